// TREE.toml: instances, how jobs are dealt to them, and what moves cost.
#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/core.h>

#include "sim/graph_machine.hpp"
#include "sim/tree/tree.hpp"

namespace holon::sim {

namespace {

constexpr std::size_t kMostInstances = 100'000;
constexpr std::size_t kLargestTree = std::size_t{16} << 20;  // bytes
constexpr int kDeepestTree = 64;                             // brackets, and parts of a key

// toml++ takes a stack frame for each bracket and each part of a key.
bool is_too_deep(const std::string& text) {
  int open = 0, parts = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if (c == ']' || c == '}') --open;
    parts = c == '\n' || c == '=' ? 0 : parts + (c == '.');
    if (open > kDeepestTree || parts > kDeepestTree) return true;
  }
  return false;
}

class TreeReader {
 public:
  TreeReader(const std::string& file, std::int64_t ticks) : file_(file), ticks_(ticks) {}

  Result<TreePlan> read(const toml::table& table) {
    if (Status good = known(table, {"instance", "route", "cost"}); !good) return broken(good);
    const toml::table* instances = table["instance"].as_table();
    if (instances == nullptr || instances->empty())
      return wrong(table, "no [instance.NAME] is there");
    if (instances->size() > kMostInstances)
      return wrong(*instances, fmt::format("more than {} instances", kMostInstances));
    for (const auto& [name, node] : *instances)
      if (Status good = add(std::string(name.str()), node); !good) return broken(good);
    if (Status good = put_in_order(*instances); !good) return broken(good);
    if (Status good = read_route(table); !good) return broken(good);
    if (Status good = read_costs(table); !good) return broken(good);
    return std::move(plan_);
  }

 private:
  static tl::unexpected<Error> broken(const Status& status) {
    return tl::unexpected(status.error());
  }
  tl::unexpected<Error> wrong(const toml::node& at, std::string what) const {
    const auto line = at.source().begin.line;
    return fail(Errc::invalid_argument, std::move(what),
                line > 0 ? fmt::format("{}:{}", file_, line) : file_);
  }
  Status known(const toml::table& table, const std::set<std::string>& keys) const {
    for (const auto& [key, node] : table)
      if (!keys.contains(std::string(key.str()))) {
        std::string all;
        for (const std::string& accepted : keys) all += (all.empty() ? "" : ", ") + accepted;
        return wrong(node, fmt::format("{}: not known; accepted are {}", key.str(), all));
      }
    return {};
  }

  // ---- values

  Result<std::int64_t> count(const toml::node& node, const char* key) const {
    const auto number = node.value<std::int64_t>();
    if (!node.is_integer() || *number < 0)
      return wrong(node, fmt::format("{}: a whole number from 0 is accepted", key));
    return *number;
  }
  // Processors, or a shape, of which the cores count.
  Result<std::int64_t> processors(const toml::node& node) const {
    if (!node.is_string()) return count(node, "owned");
    const auto machine = graph_machine(*node.value<std::string>());
    if (!machine) return wrong(node, "owned: " + machine.error().what);
    return machine->cores;
  }
  Result<Duration> seconds(const toml::node& node, const char* key) const {
    const auto number = node.value<double>();
    if (!number || !node.is_number() || !(*number >= 0 && *number <= 1e9))
      return wrong(node, fmt::format("{}: seconds from 0 are accepted", key));
    return static_cast<Duration>(std::llround(*number * static_cast<double>(ticks_)));
  }

  // ---- instances

  Status add(const std::string& name, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return wrong(node, "instance." + name + ": a table is accepted");
    if (Status good = known(*table, {"parent", "owned", "elastic", "min", "max", "weight", "conf"});
        !good)
      return good;
    TreeInstance instance;
    instance.name = name;
    if (const auto* parent = table->get("parent")) {
      if (!parent->is_string())
        return wrong(*parent, "parent: the name of an instance is accepted");
      parents_[name] = *parent->value<std::string>();
    }
    if (const auto* owned = table->get("owned")) {
      auto procs = processors(*owned);
      if (!procs) return tl::unexpected(procs.error());
      instance.owned = *procs;
    }
    for (const char* key : {"min", "max"}) {
      const auto* bound = table->get(key);
      if (bound == nullptr) continue;
      const auto procs = count(*bound, key);
      if (!procs) return tl::unexpected(procs.error());
      if (key == std::string("min"))
        instance.min = *procs;
      else
        instance.max = *procs;
    }
    if (Status good = read_mode(*table, instance); !good) return good;
    if (Status good = read_conf(*table, instance); !good) return good;
    plan_.instances.push_back(std::move(instance));
    return {};
  }
  Status read_mode(const toml::table& table, TreeInstance& instance) const {
    if (const auto* weight = table.get("weight")) {
      const auto number = weight->value<double>();
      if (!number || !(*number > 0)) return wrong(*weight, "weight: a number above 0 is accepted");
      instance.weight = *number;
    }
    const auto* elastic = table.get("elastic");
    if (elastic == nullptr) return {};
    const std::string mode = elastic->value_or<std::string>("");
    if (mode == "plan")
      instance.elastic = Elastic::plan;
    else if (mode == "eager")
      instance.elastic = Elastic::eager;
    else if (mode != "off")
      return wrong(*elastic, "elastic: \"off\", \"plan\" or \"eager\" is accepted");
    return {};
  }
  Status read_conf(const toml::table& table, TreeInstance& instance) const {
    const auto* node = table.get("conf");
    if (node == nullptr) return {};
    const toml::table* conf = node->as_table();
    if (conf == nullptr) return wrong(*node, "conf: {\"queue.policy\" = \"easy\"} is accepted");
    for (const auto& [key, value] : *conf) {
      std::ostringstream text;
      if (value.is_string())
        text << *value.value<std::string>();
      else if (value.is_table())
        return wrong(value, fmt::format("conf: write \"{}.KEY\" in quotation marks", key.str()));
      else
        value.visit([&](const auto& v) { text << v; });
      instance.conf.push_back(std::string(key.str()) + "=" + text.str());
    }
    return {};
  }

  // Parents before children; without a root, one that owns nothing is put above all.
  Status put_in_order(const toml::table& table) {
    std::map<std::string, TreeInstance> named;
    for (TreeInstance& instance : plan_.instances) named.emplace(instance.name, instance);
    plan_.instances.clear();
    const std::size_t roots = named.size() - parents_.size();
    std::optional<std::size_t> above;
    if (roots != 1) {
      TreeInstance root;
      root.name = "/";
      root.elastic = Elastic::plan;
      plan_.instances.push_back(root);
      above = 0;
    }
    while (!named.empty()) {
      const std::size_t before = named.size();
      for (auto at = named.begin(); at != named.end();) {
        const auto parent = parents_.find(at->first);
        const auto found = parent == parents_.end() ? above : place_of(parent->second);
        if (parent != parents_.end() && !found) {
          ++at;
          continue;
        }
        at->second.parent = found;
        plan_.instances.push_back(std::move(at->second));
        at = named.erase(at);
      }
      if (named.size() == before)
        return wrong(*table.get(named.begin()->first),
                     fmt::format("instance.{}: no instance \"{}\" is above it",
                                 named.begin()->first, parents_.at(named.begin()->first)));
    }
    if (processors_of(plan_) < 1) return wrong(table, "no instance owns a processor");
    return {};
  }
  std::optional<std::size_t> place_of(const std::string& name) const {
    for (std::size_t i = 0; i < plan_.instances.size(); ++i)
      if (plan_.instances[i].name == name) return i;
    return std::nullopt;
  }

  // ---- the route

  Status read_route(const toml::table& table) {
    Route& route = plan_.route;
    if (const auto* node = table.get("route")) {
      const toml::table* said = node->as_table();
      if (said == nullptr) return wrong(*node, "route: a table is accepted");
      if (Status good = known(*said, {"by", "to", "names", "file"}); !good) return good;
      if (Status good = read_by(*said); !good) return good;
      if (Status good = read_to(*said); !good) return good;
      if (Status good = read_names(*said); !good) return good;
      if (Status good = read_deal(*said); !good) return good;
    }
    if (!route.to.empty()) return {};
    for (std::size_t i = 0; i < plan_.instances.size(); ++i) {  // the leaves
      const auto is_child = [&](const TreeInstance& other) { return other.parent == i; };
      if (std::none_of(plan_.instances.begin(), plan_.instances.end(), is_child))
        route.to.push_back(i);
    }
    return {};
  }
  Status read_by(const toml::table& said) {
    const auto* node = said.get("by");
    if (node == nullptr) return {};
    const std::string by = node->value_or<std::string>("");
    for (const auto& [name, value] : {std::pair("load", RouteBy::load),
                                      {"user", RouteBy::user},
                                      {"queue", RouteBy::queue},
                                      {"file", RouteBy::file}})
      if (by == name) return plan_.route.by = value, Status{};
    return wrong(*node, "by: \"load\", \"user\", \"queue\" or \"file\" is accepted");
  }
  Result<std::size_t> instance_of(const toml::node& node) const {
    const auto place = place_of(node.value_or<std::string>(""));
    if (!place) return wrong(node, "the name of an instance is accepted");
    return *place;
  }
  Status read_to(const toml::table& said) {
    const auto* node = said.get("to");
    if (node == nullptr) return {};
    if (!node->is_array() || node->as_array()->empty())
      return wrong(*node, "to: a list of instances is accepted");
    for (const auto& name : *node->as_array()) {
      const auto place = instance_of(name);
      if (!place) return tl::unexpected(place.error());
      plan_.route.to.push_back(*place);
    }
    return {};
  }
  Status read_names(const toml::table& said) {
    const auto* node = said.get("names");
    if (node == nullptr) return {};
    if (!node->is_table()) return wrong(*node, "names: {ann = \"INSTANCE\"} is accepted");
    for (const auto& [key, name] : *node->as_table()) {
      const auto place = instance_of(name);
      if (!place) return tl::unexpected(place.error());
      plan_.route.named[std::string(key.str())] = *place;
    }
    return {};
  }
  // A file of lines "JOB INSTANCE".
  Status read_deal(const toml::table& said) {
    const auto* node = said.get("file");
    if (node == nullptr) {
      if (plan_.route.by != RouteBy::file) return {};
      return wrong(said, "by = \"file\": file = \"NAME\" is needed, with lines JOB INSTANCE");
    }
    const std::string path = node->value_or<std::string>("");
    std::ifstream in(path);
    if (!in) return wrong(*node, "file: \"" + path + "\" cannot be read");
    std::size_t line = 0;
    for (std::string text; std::getline(in, text);) {
      ++line;
      std::istringstream words(text);
      std::string job, name;
      if (!(words >> job) || job.front() == '#') continue;
      const auto place = words >> name ? place_of(name) : std::nullopt;
      if (!place)
        return fail(Errc::invalid_argument, "a job's number and an instance are accepted",
                    fmt::format("{}:{}", path, line));
      plan_.route.named[job] = *place;
    }
    return {};
  }

  Status read_costs(const toml::table& table) {
    const auto* node = table.get("cost");
    if (node == nullptr) return {};
    const toml::table* said = node->as_table();
    if (said == nullptr) return wrong(*node, "cost: a table is accepted");
    if (Status good = known(*said, {"message", "launch", "agent-start", "notice"}); !good)
      return good;
    TreeCosts& costs = plan_.costs;
    for (const auto& [key, cost] : {std::pair("message", &costs.message),
                                    {"launch", &costs.launch},
                                    {"agent-start", &costs.agent_start},
                                    {"notice", &costs.notice}})
      if (const auto* value = said->get(key)) {
        const auto ticks = seconds(*value, key);
        if (!ticks) return tl::unexpected(ticks.error());
        *cost = *ticks;
      }
    return {};
  }

  const std::string& file_;
  std::int64_t ticks_;
  TreePlan plan_;
  std::map<std::string, std::string> parents_;  // as they are said
};

}  // namespace

Result<TreePlan> read_tree(const std::string& text, const std::string& file,
                           std::int64_t ticks_per_second) {
  if (text.size() > kLargestTree) return fail(Errc::invalid_argument, "larger than 16 MiB", file);
  if (is_too_deep(text)) return fail(Errc::invalid_argument, "nested too deep", file);
  try {
    return TreeReader(file, ticks_per_second).read(toml::parse(text, file));
  } catch (const toml::parse_error& e) {
    return fail(Errc::invalid_argument, std::string(e.description()),
                fmt::format("{}:{}", file, e.source().begin.line));
  }
}

}  // namespace holon::sim
