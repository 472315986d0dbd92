// A pass goes on from what earlier ones have found out. To an engine that forgets all of it, looks
// at every job in every pass, and makes every reservation at once, the same jobs start at the same
// times.
//
// Over numbers only. On a graph the units that a reservation is made on depend on what is free when
// it is made, and a job that comes later may fit beside one choice and not beside the other.
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
