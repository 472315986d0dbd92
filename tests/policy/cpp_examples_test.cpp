// The two policies of docs/examples/own_policy.cpp are those of docs/examples/policies in Lua.
#include <fstream>

#include "places.hpp"  // written by CMake
#include "tests/policy/asked.hpp"

#define main own_policy_main             // NOLINT: the example is a program
#include "docs/examples/own_policy.cpp"  // NOLINT
#undef main

namespace holon::policy {
namespace {

std::string lua_of(const std::string& file) {
  std::ifstream in(HOLON_SOURCE_DIR "/docs/examples/policies/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Over several days, so that jobs wait for more than one, and come by day and at night.
sim::Workload slow_workload(std::uint64_t seed) {
  constexpr std::int64_t kTimes = 40;
  sim::Workload workload = made_up(seed, 200);
  for (sim::TraceJob& job : workload.jobs) {
    job.submit *= kTimes;
    job.run *= kTimes;
    job.limit *= kTimes;
  }
  return workload;
}

template <class Policy>
void expect_same_as(const std::string& file) {
  const std::string text = lua_of(file);
  ASSERT_NE(text, "");
  qmanager::SchedulerConfig in_lua = config_with(text), in_cpp = in_lua;
  in_cpp.programs["mine.lua"] = std::make_shared<const Program<Policy>>();
  qmanager::SchedulerConfig base = in_lua;
  base.defaults.policy = "easy";
  std::size_t others = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const sim::Workload workload = slow_workload(seed);
    const sim::SimResult lua = simulated(workload, in_lua);
    const sim::SimResult cpp = simulated(workload, in_cpp);
    const sim::SimResult easy = simulated(workload, base);
    EXPECT_EQ(lua.queues[0].hooks->trouble, "");
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      ASSERT_EQ(lua.jobs[i].start, cpp.jobs[i].start)
          << file << ", seed " << seed << ", job " << workload.jobs[i].id;
      others += lua.jobs[i].start != easy.jobs[i].start ? 1 : 0;
    }
  }
  EXPECT_GT(others, 100U) << "the policy is its base";
}

TEST(CppExamples, ShortestFirstIsTheOneInLua) {
  expect_same_as<ShortestFirst>("shortest-first.lua");
}

TEST(CppExamples, NightAndDayIsTheOneInLua) {
  expect_same_as<NightAndDay>("night-and-day.lua");
}

TEST(CppExamples, TheProgramRuns) {
  EXPECT_EQ(own_policy_main(), 0);
}

}  // namespace
}  // namespace holon::policy
