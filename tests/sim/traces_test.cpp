// Start times of real workloads against those of independent simulators (shared/traces): equal for
// every job.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/core.h>

#include "places.hpp"  // written by CMake
#include "qmanager/machine/flat_machine.hpp"
#include "sim/graph_machine.hpp"
#include "sim/simulate.hpp"
#include "sim/swf.hpp"

namespace holon::sim {
namespace {

namespace fs = std::filesystem;

const fs::path kTraces = fs::path(HOLON_SOURCE_DIR) / ".." / "shared" / "traces";

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// job -> start, from a CSV whose first and sixth columns these are.
std::map<std::int64_t, Time> oracle_starts(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::map<std::int64_t, Time> starts;
  while (std::getline(in, line)) {
    std::istringstream row(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    starts[std::stoll(cells.at(0))] = std::stoll(cells.at(5));
  }
  return starts;
}

struct Case {
  std::string trace;
  std::string policy;  // as in the file's name
  std::string order;
};

std::string our_policy(const std::string& name) {
  if (name == "cons") return "conservative";
  if (name == "consrb") return "conservative-rebuild";
  if (name == "hybrid8") return "hybrid:8";
  return name;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* order : {"batch", "event"}) {
    if (!fs::exists(kTraces / "starts" / order)) continue;
    for (const auto& file : fs::directory_iterator(kTraces / "starts" / order)) {
      const std::string stem = file.path().stem();
      const std::size_t dash = stem.rfind('-');
      all.push_back({stem.substr(0, dash), stem.substr(dash + 1), order});
    }
  }
  std::sort(all.begin(), all.end(), [](const Case& a, const Case& b) {
    return std::tie(a.trace, a.policy, a.order) < std::tie(b.trace, b.policy, b.order);
  });
  if (all.empty()) all.push_back({});
  return all;
}

class Traces : public testing::TestWithParam<Case> {};

TEST_P(Traces, EveryJobStartsWhenTheOracleSays) {
  const Case& c = GetParam();
  if (c.trace.empty()) GTEST_SKIP() << "NO TRACES at " << kTraces << ": nothing was compared";
  const auto trace = read_swf(slurp(kTraces / (c.trace + ".swf")), {});
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->skipped, 0u);
  SimOptions options;
  options.config.defaults.policy = our_policy(c.policy);
  options.config.defaults.queue_depth = 1'000'000;
  options.order = c.order == "batch" ? Order::batch : Order::event;
  const auto result = simulate(
      trace->workload, std::make_unique<qmanager::FlatMachine>(trace->workload.max_procs), options);
  ASSERT_TRUE(result) << to_string(result.error());
  const auto want =
      oracle_starts(kTraces / "starts" / c.order / (c.trace + "-" + c.policy + ".csv"));
  ASSERT_EQ(want.size(), trace->workload.jobs.size());
  int different = 0;
  for (std::size_t i = 0; i < want.size() && different < 5; ++i) {
    const TraceJob& job = trace->workload.jobs[i];
    EXPECT_EQ(result->jobs[i].start, want.at(job.id)) << "job " << job.id << (++different, "");
  }
}

// The same through a resource graph of as many one-core nodes.
TEST_P(Traces, AGraphOfSingleCoresStartsThemAtTheSameTimes) {
  const Case& c = GetParam();
  if (c.trace.empty()) GTEST_SKIP() << "NO TRACES at " << kTraces << ": nothing was compared";
  const auto trace = read_swf(slurp(kTraces / (c.trace + ".swf")), {});
  ASSERT_TRUE(trace) << to_string(trace.error());
  Workload workload = trace->workload;
  // The 23,387 jobs of Theta on 4,392 nodes take five seconds of processor time a policy.
  if (workload.max_procs > 1000) workload.jobs.resize(2000);
  SimOptions options;
  options.config.defaults.policy = our_policy(c.policy);
  options.config.defaults.queue_depth = 1'000'000;
  options.order = c.order == "batch" ? Order::batch : Order::event;
  const auto machine = graph_machine(fmt::format("node={}/core=1", workload.max_procs));
  ASSERT_TRUE(machine) << to_string(machine.error());
  const auto graph = simulate(workload, *machine->machine(), options, graph_request);
  const auto flat =
      simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options);
  ASSERT_TRUE(graph && flat);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    ASSERT_EQ(graph->jobs[i].start, flat->jobs[i].start) << "job " << workload.jobs[i].id;
}

INSTANTIATE_TEST_SUITE_P(Oracle, Traces, testing::ValuesIn(cases()), [](const auto& at) {
  std::string name = at.param.trace + "_" + at.param.policy + "_" + at.param.order;
  std::replace(name.begin(), name.end(), '-', '_');
  return name.size() > 2 ? name : "none";
});

}  // namespace
}  // namespace holon::sim
