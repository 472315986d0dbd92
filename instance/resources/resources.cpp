#include "instance/resources/resources.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include "base/whole_file.hpp"
#include "instance/resources/resource_database.hpp"
#include "launch/topology.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/rv1.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

constexpr std::string_view kDatabase("SQLite format 3\0", 16);  // how such a file begins

// The resources in RFC 16's database, without the jobs that held them.
Result<ResourceSource> read_database(const std::string& file) {
  const auto database = ResourceDatabase::open(file, ResourceDatabase::Open::existing);
  if (!database) return tl::unexpected(database.error());
  const auto store = database->load();
  if (!store) return tl::unexpected(store.error());
  return ResourceSource{"jgf", resource::write_jgf(store->graph()), false};
}

// A file that begins with a brace is meant as JSON: the reader of JGF says where it fails.
tl::unexpected<Error> unreadable_json(const std::string& text, const std::string& file) {
  const auto read = resource::read_jgf(text);
  const Error why = read ? Error{Errc::invalid_argument, "not JSON", ""} : read.error();
  return fail(Errc::invalid_argument, why.what,
              "--resources " + file + (why.where.empty() ? "" : ": " + why.where));
}

// The kind of a file, by its first bytes and top-level keys.
Result<std::string> kind_of(const std::string& text, const std::string& file) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '<') return "hwloc";
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded() && first != std::string::npos && text[first] == '{')
    return unreadable_json(text, file);
  if (document.is_object() && document.contains("graph")) return "jgf";
  if (document.is_object() && document.contains("execution")) return "rv1";
  return fail(Errc::invalid_argument,
              "neither JGF, Rv1, hwloc XML nor a resource database; a shape like node=4/core=8 "
              "needs no file",
              "--resources " + file);
}

std::string name_of_this_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// {"topologies":[XML, ...],"hosts":[{"rank":0,"host":"a","topology":0}, ...]}
Result<resource::GraphSpec> read_hosts(const std::string& text) {
  try {
    const json document = json::parse(text);
    std::vector<std::string> topologies = document.at("topologies");
    std::vector<resource::HostTopology> hosts;
    for (const json& host : document.at("hosts"))
      hosts.push_back({topologies.at(host.at("topology").get<std::size_t>()), host.at("rank"),
                       host.at("host")});
    return resource::read_hwloc(hosts);
  } catch (const std::exception& e) {
    return fail(Errc::invalid_argument, e.what(), "journal");
  }
}

}  // namespace

ResourceSource with_other_nodes(const ResourceSource& own, const std::string& own_host,
                                const std::vector<NodeTopology>& others) {
  if (others.empty()) return own;
  json topologies = json::array(), hosts = json::array();
  std::map<std::string, std::size_t, std::less<>> known;
  const auto add = [&](std::uint32_t rank, const std::string& host, std::string_view xml) {
    auto topology = known.find(xml);
    if (topology == known.end()) {
      topology = known.emplace(xml, known.size()).first;
      topologies.push_back(topology->first);
    }
    hosts.push_back({{"rank", rank}, {"host", host}, {"topology", topology->second}});
  };
  add(0, own_host.empty() ? name_of_this_host() : own_host, launch::portable_topology(own.text));
  for (const NodeTopology& node : others) add(node.rank, node.host, node.xml);
  const json document = {{"topologies", std::move(topologies)}, {"hosts", std::move(hosts)}};
  return {"hosts", document.dump(-1, ' ', false, json::error_handler_t::replace), own.bind};
}

Result<ResourceSource> with_another_node(const ResourceSource& source, const std::string& own_host,
                                         const NodeTopology& node) {
  if (source.kind == "hwloc" && source.bind) return with_other_nodes(source, own_host, {node});
  json document = source.kind == "hosts" ? json::parse(source.text, nullptr, false) : json();
  if (!document.is_object())
    return fail(Errc::unsupported, "its resources were declared; no node can be added to them");
  json& topologies = document["topologies"];
  const std::string xml = launch::portable_topology(node.xml);
  const auto known = std::find(topologies.begin(), topologies.end(), xml);
  const auto place = static_cast<std::size_t>(known - topologies.begin());
  if (known == topologies.end()) topologies.push_back(xml);
  document["hosts"].push_back({{"rank", node.rank}, {"host", node.host}, {"topology", place}});
  return ResourceSource{"hosts", document.dump(-1, ' ', false, json::error_handler_t::replace),
                        source.bind};
}

std::string topology_in(const ResourceSource& source, const std::string& digest) {
  std::vector<std::string> known;
  if (source.kind == "hwloc" && source.bind) known = {launch::portable_topology(source.text)};
  const json document = source.kind == "hosts" ? json::parse(source.text, nullptr, false) : json();
  if (document.is_object()) known = document.value("topologies", known);
  for (auto& xml : known)
    if (launch::topology_digest(xml) == digest) return std::move(xml);
  return "";
}

Result<resource::GraphSpec> read_node(const NodeTopology& node) {
  const resource::HostTopology host{node.xml, static_cast<std::int32_t>(node.rank), node.host};
  return resource::read_hwloc({&host, 1});
}

std::vector<std::uint32_t> agents_of(const ResourceSource& source, std::size_t expected) {
  std::vector<std::uint32_t> ranks;
  const json document = source.kind == "hosts" ? json::parse(source.text, nullptr, false) : json();
  if (source.bind && source.kind == "hwloc") return {0};
  if (!document.is_object()) {
    ranks.resize(std::max<std::size_t>(1, expected));
    std::iota(ranks.begin(), ranks.end(), 0U);
    return ranks;
  }
  for (const json& host : document.value("hosts", json::array())) ranks.push_back(host.at("rank"));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Result<ResourceSource> find_resources(const std::string& word, std::uint64_t most_memory) {
  if (word.empty() || word == kThisMachine) {
    auto xml = launch::topology_xml("", most_memory);
    if (!xml) return tl::unexpected(xml.error());
    return ResourceSource{"hwloc", std::move(*xml), true};
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(word, ignored))
    return fail(Errc::invalid_argument, "a folder; accepted are a JGF, Rv1 or hwloc XML file",
                "--resources " + word);
  auto text = read_whole_file(word);
  if (!text && text.error().code == Errc::not_found) {
    if (word.find('=') != std::string::npos) return ResourceSource{"shape", word, false};
    return fail(
        Errc::not_found,
        "no such file; accepted are a JGF, Rv1 or hwloc XML file, or a shape like node=4/core=8",
        "--resources " + word);
  }
  if (!text) return fail(Errc::invalid_argument, text.error().what, "--resources " + word);
  if (text->starts_with(kDatabase)) return read_database(word);
  auto kind = kind_of(*text, word);
  if (!kind) return tl::unexpected(kind.error());
  return ResourceSource{std::move(*kind), std::move(*text), false};
}

Result<resource::GraphSpec> read_resources(const ResourceSource& source) {
  if (source.kind == "shape") return resource::read_shape(source.text);
  if (source.kind == "jgf") return resource::read_jgf(source.text);
  if (source.kind == "rv1")
    return resource::read_rv1(source.text, resource::Rv1Use::scheduling_first);
  if (source.kind == "hwloc") {
    const resource::HostTopology host{source.text, -1, ""};
    return resource::read_hwloc({&host, 1});
  }
  if (source.kind == "hosts") return read_hosts(source.text);
  return fail(Errc::invalid_argument, fmt::format("unknown kind of resources '{}'", source.kind),
              "journal");
}

namespace {

// "nodes=1/cores=8" with singular names, as types have.
std::string without_plurals(const std::string& shape) {
  static const std::regex plural("(^|[/,])(cluster|rack|node|socket|numanode|core|gpu)s=");
  return std::regex_replace(shape, plural, "$1$2=");
}

}  // namespace

Status check_resources(const std::string& word) {
  if (word.empty() || word == kThisMachine) return {};
  const auto source = find_resources(word);
  if (!source) return tl::unexpected(source.error());
  const auto spec = read_resources(*source);
  if (!spec) {
    Error error = spec.error();
    error.where = "--resources " + word + (error.where.empty() ? "" : ": " + error.where);
    return tl::unexpected(error);
  }
  const auto core = spec->words.types.find("core");
  const bool has_cores = core && std::any_of(spec->rows.begin(), spec->rows.end(),
                                             [&](const auto& row) { return row.type == *core; });
  if (source->kind != "shape" || has_cores) return {};
  if (const auto singular = without_plurals(word); singular != word)
    return fail(
        Errc::invalid_argument,
        "there is no type 'core' in it, and every job needs cores; did you mean " + singular + "?",
        "--resources " + word);
  return fail(
      Errc::invalid_argument,
      "there are no cores in it, and every job needs one; " + word + "/core=8 has eight each",
      "--resources " + word);
}

Status check_required(const std::string& word, const qmanager::SchedulerConfig& config) {
  std::map<std::string, std::string> wanted;  // property -> the key that asks for it
  for (const auto& name : config.defaults.properties) wanted.emplace(name, "queue.requires");
  for (const auto& [queue, settings] : config.queues)
    for (const auto& name : settings.properties)
      wanted.emplace(name, fmt::format("queues.{}.requires", queue));
  if (wanted.empty()) return {};
  const auto source = find_resources(word);
  const auto spec = source ? read_resources(*source) : tl::unexpected(source.error());
  if (!spec) return tl::unexpected(spec.error());
  std::set<std::string> known;
  for (const auto& property : spec->properties) known.insert(property.key);
  for (const auto& [name, key] : wanted)
    if (!known.contains(name) && !name.starts_with('^'))
      return fail(Errc::invalid_argument,
                  fmt::format("nothing here has the property '{}', so that every job would be "
                              "refused; {}",
                              name,
                              known.empty() ? std::string("there are no properties")
                                            : fmt::format("there are {}", fmt::join(known, ", "))),
                  key);
  return {};
}

Result<std::string> grant_text(const resource::ResourceGraph& graph,
                               const resource::Allocation& allocation) {
  return resource::grant_jgf(graph, allocation);
}

Result<std::string> R_text(const resource::ResourceGraph& graph,
                           const resource::Allocation& allocation) {
  auto r = resource::to_rv1(graph, allocation);
  if (!r) return tl::unexpected(r.error());
  auto jgf = resource::write_allocation(resource::WriteFormat::jgf, graph, allocation);
  if (!jgf) return tl::unexpected(jgf.error());
  // The core knows ticks, an Rv1 seconds; the live instance's ticks are milliseconds.
  r->starttime = static_cast<double>(allocation.when.begin) / 1000;
  if (allocation.when.end != kTimeMax)
    r->expiration = static_cast<double>(allocation.when.end) / 1000;
  r->scheduling = std::move(*jgf);
  return resource::write_rv1(*r);
}

std::string R_text(const resource::ResourceGraph& graph) {
  auto r = resource::to_rv1(graph);
  r.scheduling = resource::write_jgf(graph);
  return resource::write_rv1(r);
}

}  // namespace holon::instance
