// A pass goes on from what earlier ones have found out. To an engine that forgets all of it, looks
// at every job in every pass, and makes every reservation at once, the same jobs start at the same
// times.
//
// On a graph the units that a reservation is made on depend on what is free when it is made, and a
// job that comes later may fit beside one choice and not beside the other. So there the two are
// compared where nothing is reserved for later than it would be without shortcuts: where nobody is
// reserved for, and where each job is reserved for at once.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/qmanager/properties/history.hpp"

namespace holon::tests {
namespace {

constexpr unsigned kHistories = 30;

TEST(Shortcuts, ChangeNoStart) {
  for (const Setting& setting : all_settings())
    for (unsigned seed = 0; seed < kHistories; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", setting.name, seed));
      const std::string starts = play(seed, setting, Over::numbers).starts;
      ASSERT_NE(starts, "");
      EXPECT_EQ(play(seed, setting, Over::numbers, {.shortcuts = false}).starts, starts);
    }
}

// Nobody is reserved for, or each job as soon as it is looked at, for good.
bool reserves_without_delay(const Setting& setting) {
  qmanager::SchedulerConfig config;
  config.defaults.policy.clear();  // a setting that says none has another one
  setting.set(config);
  const std::string& policy = config.defaults.policy;
  return policy == "fcfs" || policy == "conservative" || policy.starts_with("conservative:");
}

TEST(Shortcuts, ChangeNoStartOnAGraph) {
  int settings = 0;
  for (const Setting& setting : all_settings()) {
    if (!reserves_without_delay(setting)) continue;
    ++settings;
    for (unsigned seed = 0; seed < kHistories; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", setting.name, seed));
      const std::string starts = play(seed, setting, Over::graph).starts;
      ASSERT_NE(starts, "");
      EXPECT_EQ(play(seed, setting, Over::graph, {.shortcuts = false}).starts, starts);
    }
  }
  EXPECT_GE(settings, 5);
}

// Between two passes nobody could have been started. Priorities that change with time are computed
// at passes, some time apart: with more passes the order is another one.
TEST(Shortcuts, NoPassIsMissing) {
  for (const Setting& setting : all_settings()) {
    qmanager::SchedulerConfig config;
    setting.set(config);
    if (config.priority.ages()) continue;
    for (unsigned seed = 0; seed < kHistories; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", setting.name, seed));
      const std::string starts = play(seed, setting, Over::numbers).starts;
      EXPECT_EQ(play(seed, setting, Over::numbers, {.shortcuts = false, .every_tick = true}).starts,
                starts);
    }
  }
}

}  // namespace
}  // namespace holon::tests
