// Policies in Lua on the traces of real workloads (shared/traces): their start times are those of
// the built-in policies that they write again, and of a simulation that shares no line with ours.
#include <filesystem>
#include <fstream>

#include "places.hpp"  // written by CMake
#include "sim/swf.hpp"
#include "tests/policy/asked.hpp"
#include "tests/policy/in_order.hpp"

namespace holon::policy {
namespace {

namespace fs = std::filesystem;

const fs::path kTraces = fs::path(HOLON_SOURCE_DIR) / ".." / "shared" / "traces";
// Jobs of policies that reserve for many, which take long.
constexpr std::size_t kMostReserved = 1'500;

std::vector<fs::path> traces() {
  std::vector<fs::path> files;
  if (fs::exists(kTraces))
    for (const auto& file : fs::directory_iterator(kTraces))
      if (file.path().extension() == ".swf") files.push_back(file.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) files.emplace_back();
  return files;
}

sim::Workload workload_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto trace = sim::read_swf(bytes, {});
  EXPECT_TRUE(trace) << to_string(trace.error());
  return trace->workload;
}

class LuaOnTraces : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    if (GetParam().empty()) GTEST_SKIP() << "NO TRACES at " << kTraces << ": nothing was compared";
  }
};

TEST_P(LuaOnTraces, ShortestFirstIsWhatASimulationOfItsOwnSays) {
  const sim::Workload workload = workload_of(GetParam());
  const sim::SimResult result = simulated(
      workload, config_with("base = 'fcfs'  function priority(job) return -job.limit end"));
  const auto want = in_order(workload, [](const sim::TraceJob& job) { return job.limit; });
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(result.jobs[i].start, want[i]) << "job " << workload.jobs[i].id;
  EXPECT_EQ(result.queues[0].hooks->trouble, "");
}

struct Again {
  const char* name;
  const char* text;
  bool keeps;  // its promises
};

TEST_P(LuaOnTraces, BuiltInPoliciesWrittenAgainAreThose) {
  const sim::Workload all = workload_of(GetParam());
  sim::Workload begin = all;
  begin.jobs.resize(std::min(begin.jobs.size(), kMostReserved));
  for (const Again& again :
       {Again{"fcfs",
              "function may_backfill() return false end function may_reserve() return false end",
              true},
        {"easy",
         "function may_backfill() return true end "
         "function may_reserve(job, view) return view.reserved == 0 end",
         true},
        {"hybrid:8",
         "function may_backfill() return true end "
         "function may_reserve(job, view) return view.reserved < 8 end",
         false},
        {"conservative",
         "function may_backfill() return true end function may_reserve() return true end", true},
        {"conservative-rebuild",
         "function may_backfill() return true end function may_reserve() return true end",
         false}}) {
    qmanager::SchedulerConfig built_in;
    built_in.defaults.policy = again.name;
    built_in.defaults.queue_depth = 1'000'000;
    const bool reserves_for_many = std::string(again.name).starts_with("con") || !again.keeps;
    const sim::Workload& workload = reserves_for_many ? begin : all;
    const sim::SimResult mine = simulated(workload, config_with(again.text, again.keeps));
    const sim::SimResult theirs = simulated(workload, built_in);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      ASSERT_EQ(mine.jobs[i].start, theirs.jobs[i].start)
          << again.name << ", job " << workload.jobs[i].id;
    EXPECT_EQ(mine.queues[0].hooks->trouble, "") << again.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, LuaOnTraces, testing::ValuesIn(traces()), [](const auto& at) {
  std::string name = at.param.stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name.empty() ? "none" : name;
});

}  // namespace
}  // namespace holon::policy
