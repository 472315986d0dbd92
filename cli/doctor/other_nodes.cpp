#include "cli/doctor/other_nodes.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/hostlist.hpp"
#include "batch/step.hpp"
#include "cli/doctor/ask.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/surroundings.hpp"

namespace holon::cli {
namespace {

using NodeJson = nlohmann::json;
using State = Finding::State;

constexpr Duration kStepPatience = 30'000;
constexpr Duration kClocksDiffer = 5'000;  // and a step takes some of it to say so

// A file in the home, which nodes are taken to share, for as long as this lives.
class Mark {
 public:
  Mark() {
    const char* const home = std::getenv("HOME");
    file_ = std::string(home != nullptr ? home : "/tmp") + "/.holon-doctor-XXXXXX";
    const int fd = mkstemp(file_.data());
    if (fd < 0)
      file_.clear();
    else
      close(fd);
  }
  ~Mark() {
    if (!file_.empty()) unlink(file_.c_str());
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

// Each command of a step, without the variables that its launcher must not see.
std::vector<std::vector<std::string>> commands_of(const batch::Step& step) {
  std::vector<std::vector<std::string>> commands;
  for (const auto& command : step.commands) {
    std::vector<std::string>& words = commands.emplace_back();
    words.emplace_back("env");
    for (const auto& name : step.unset) words.insert(words.end(), {"-u", name});
    words.insert(words.end(), command.begin(), command.end());
  }
  return commands;
}

// The answers of the nodes that could be asked, by host.
using Answers = std::map<std::string, NodeJson>;

Answers answers_in(const std::string& text) {
  Answers answers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const NodeJson said = NodeJson::parse(line, nullptr, false);
    if (said.is_object() && said.contains("host") && said.contains("checks"))
      answers[said.value("host", "")] = said;
  }
  return answers;
}

State state_named(const std::string& name) {
  return name == "failed" ? State::failed : name == "warning" ? State::warning : State::ok;
}

void add_checks(const std::string& host, const NodeJson& said, Findings& all) {
  for (const auto& check : said["checks"]) {
    const State state = state_named(check.value("state", ""));
    const bool is_told_here = check.value("check", "") == "grant";  // alike on equal nodes
    if (state == State::failed || (state == State::warning && !is_told_here))
      all.push_back({host + ": " + check.value("check", ""), state, check.value("found", ""),
                     check.value("remedy", "")});
  }
}

void compare(const std::string& host, const NodeJson& said, Findings& all) {
  if (const auto version = said.value("version", ""); version != HOLON_VERSION)
    all.push_back({host + ": version", State::failed,
                   fmt::format("holon {} there, {} here", version, HOLON_VERSION),
                   "the same program under the same name on all nodes"});
  const Duration apart = std::abs(said.value("now", std::int64_t{0}) - instance::wall_clock_ms());
  if (apart > kClocksDiffer)
    all.push_back({host + ": clock", State::warning,
                   fmt::format("differs from that of this node by {} s", apart / 1000),
                   "what jobs there write has other times; a time service (NTP) on both"});
}

// Adds one line for all nodes that are well.
void add_summary(const Answers& answers, const Findings& trouble, Findings& all) {
  Hostlist well, apart;
  std::int64_t cores = 0, gpus = 0;
  for (const auto& [host, said] : answers) {
    const auto is_its = [&, name = host + ": "](const Finding& one) {
      return one.state == State::failed && one.check.starts_with(name);
    };
    if (std::any_of(trouble.begin(), trouble.end(), is_its)) continue;
    well.append(host);
    cores += said.value("cores", std::int64_t{0});
    gpus += said.value("gpus", std::int64_t{0});
    if (!said.value("sees", false)) apart.append(host);
  }
  if (!well.empty())
    all.push_back({"other nodes", State::ok,
                   fmt::format("{}: reached, {} cores can be bound{}", well.str(), cores,
                               gpus > 0 ? fmt::format(", {} GPUs", gpus) : ""),
                   ""});
  if (!apart.empty())
    all.push_back({"files", State::ok,
                   fmt::format("{}: home is not the one of this node; output of jobs is handed "
                               "over by the agents there",
                               apart.str()),
                   ""});
}

}  // namespace

std::string line_of_node(const std::string& host, const Findings& all, const std::string& mark) {
  NodeJson checks = NodeJson::array();
  NodeJson said = {{"host", host}, {"version", HOLON_VERSION}, {"now", instance::wall_clock_ms()}};
  for (const Finding& one : all) {
    checks.push_back({{"check", one.check},
                      {"state", name_of(one.state)},
                      {"found", one.found},
                      {"remedy", one.remedy}});
    for (const char* const counted : {"cores", "gpus"})
      if (one.check == counted) said[counted] = std::atoll(one.found.c_str());
  }
  said["checks"] = std::move(checks);
  said["sees"] = !mark.empty() && access(mark.c_str(), F_OK) == 0;
  return said.dump(-1, ' ', false, NodeJson::error_handler_t::replace) + "\n";
}

Findings look_at_other_nodes(const instance::Surroundings& around) {
  const batch::Allocation& allocation = around.allocation;
  if (allocation.nodes.size() < 2 || !allocation.node_index ||
      allocation.system == batch::System::holon)
    return {};
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  const Mark mark;
  const auto step =
      batch::step_on_nodes(allocation, {binary.string(), "doctor", "--on-node", mark.file()});
  if (!step) return {{"other nodes", State::failed, to_string(step.error()), "holon start --here"}};
  Findings all;
  std::string said;
  std::optional<Error> why;
  for (const auto& command : commands_of(*step)) {
    auto answer = ask(command, kStepPatience);
    if (answer)
      said += *answer;
    else
      why = answer.error();
  }
  Answers answers = answers_in(said);
  Findings trouble;
  for (const batch::Node& node : allocation.nodes) {
    if (node.name == allocation.node) continue;
    const auto answer = answers.find(node.name);
    if (answer == answers.end()) {
      trouble.push_back({node.name + ": reached", State::failed,
                         why ? to_string(*why) : "it has said nothing",
                         "what the launcher says there: " + step->commands[0][0] +
                             "; --quorum N begins without it"});
      continue;
    }
    add_checks(node.name, answer->second, trouble);
    compare(node.name, answer->second, trouble);
  }
  answers.erase(allocation.node);
  add_summary(answers, trouble, all);
  all.insert(all.end(), trouble.begin(), trouble.end());
  return all;
}

}  // namespace holon::cli
