// The tables of docs/own-policy.md: each name that it promises is there, and each built-in policy
// in its words is that policy.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "sim/graph_machine.hpp"
#include "tests/policy/asked.hpp"

namespace holon::policy {
namespace {

using Rows = std::vector<std::vector<std::string>>;  // cells

// The rows below the first line that begins so, without that of dashes.
Rows table_below(const std::string& head) {
  std::ifstream in(HOLON_SOURCE_DIR "/docs/own-policy.md");
  Rows rows;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(head)) inside = true;
    if (!inside || line.starts_with(head) || line.starts_with("|---")) continue;
    if (!line.starts_with("|")) break;
    std::istringstream cells(line.substr(1));
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|');) rows.back().push_back(cell);
  }
  EXPECT_FALSE(rows.empty()) << head;
  return rows;
}

// What stands between backticks.
std::vector<std::string> quoted(const std::string& cell) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = cell.find('`', at)) != std::string::npos;) {
    const std::size_t end = cell.find('`', at + 1);
    found.push_back(cell.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return found;
}

std::string with(std::string text, const std::string& word, const std::string& value) {
  if (const auto at = text.find(word); at != std::string::npos)
    text.replace(at, word.size(), value);
  return text;
}

// Lua that looks at all that the table names of `what`. ".cores" belongs to what stands before it.
std::string looks_at_all(const std::string& what, const std::string& head) {
  std::string text, before;
  for (const auto& row : table_below(head))
    for (std::string name : quoted(row.at(0))) {
      if (name.starts_with(".")) name = before.substr(0, before.rfind('.')) + name;
      before = name;
      for (const auto& [word, value] : {std::pair("KEY", "'a'"), {"VALUE", "'b'"}, {"NAME", "'u'"}})
        name = with(std::move(name), word, name.find("attributes") == 0 ? "a" : value);
      text += "  look('" + before + "', " + what + "." + name + ")\n";
    }
  return text;
}

constexpr const char* kLook =
    "function look(name, value)\n"
    "  if value == nil then error(name .. ' is not there') end\n"
    "end\n";

TEST(OwnPolicyTables, WhatAJobAndAViewHaveIsThere) {
  const std::string text = kLook + std::string("function priority(job, view)\n") +
                           looks_at_all("job", "| of a `job` |") +
                           looks_at_all("view", "| of the `view` |") + "  return 1\nend\n";
  EXPECT_GE(std::count(text.begin(), text.end(), '\n'), 30);
  sim::Workload workload = made_up(1, 60);
  sim::SimOptions options;
  options.config = config_with(text);
  const auto result = sim::simulate(
      workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options,
      [](const sim::TraceJob& job) {
        qmanager::JobRequest request = sim::flat_request(job);
        request.attributes = std::make_shared<const std::map<std::string, std::string>>(
            std::map<std::string, std::string>{{"a", "b"}});
        return request;
      });
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->queues[0].hooks->trouble, "") << text;
  EXPECT_GT(result->queues[0].hooks->calls, 0);
}

TEST(OwnPolicyTables, WhatAPlaceHasIsThere) {
  const std::string text = kLook + std::string("function score(job, place)\n") +
                           looks_at_all("place", "| of a `place` |") + "  return 1\nend\n";
  const auto graph = resource::read_shape("rack=2/node=2/core=4");
  ASSERT_TRUE(graph);
  sim::SimOptions options;
  options.config = config_with(text);
  sim::Workload workload = made_up(1, 20);
  for (sim::TraceJob& job : workload.jobs) job.procs = 2;
  const auto result = sim::simulate(
      workload,
      std::make_unique<qmanager::OwningStoreMachine>(
          std::move(*resource::ResourceStore::load(*graph, resource::StoreOptions()))),
      options, sim::graph_request);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->queues[0].hooks->trouble, "") << text;
  EXPECT_GT(result->queues[0].hooks->calls, 0);
}

// A condition that a row names with words, as in "both return true", is put together here.
std::string policy_of(const std::string& name, const std::vector<std::string>& code) {
  if (code.size() == 1 && code[0].starts_with("function")) return code[0];
  if (code.size() == 2 && code[1].starts_with("function")) return code[0] + "\n" + code[1];
  const std::string reserves = name.starts_with("hybrid") ? code.at(0) : "true";
  return "function may_backfill() return true end\nfunction may_reserve(job, view) return " +
         reserves + " end";
}

TEST(OwnPolicyTables, BuiltInPoliciesInItsWordsAreThose) {
  int compared = 0;
  std::ifstream in(HOLON_SOURCE_DIR "/docs/own-policy.md");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("A built-in policy in these words")) continue;
  while (std::getline(in, line) && !line.starts_with("**")) {
    const auto bar = line.find('|', 1);
    if (!line.starts_with("| `") || bar == std::string::npos) continue;
    const std::string words = line.substr(bar);
    const bool keeps = words.find("`policy.keep-promises = false`") == std::string::npos;
    for (const std::string& name : quoted(line.substr(0, bar))) {
      qmanager::SchedulerConfig theirs;
      theirs.defaults.policy = name;
      theirs.defaults.queue_depth = 1'000'000;
      const std::string text = policy_of(name, quoted(words));
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const sim::Workload workload = made_up(seed, 200);
        const sim::SimResult mine = simulated(workload, config_with(text, keeps));
        const sim::SimResult built_in = simulated(workload, theirs);
        for (std::size_t i = 0; i < workload.jobs.size(); ++i)
          ASSERT_EQ(mine.jobs[i].start, built_in.jobs[i].start)
              << name << ": " << text << ", seed " << seed << ", job " << i + 1;
        EXPECT_EQ(mine.queues[0].hooks->trouble, "") << name;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 5);
}

}  // namespace
}  // namespace holon::policy
