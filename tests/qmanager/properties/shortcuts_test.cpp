// A pass goes on from what earlier ones have found out. To an engine that forgets all of it, looks
// at every job in every pass, and makes every reservation at once, the same jobs start at the same
// times.
//
// A reservation that is made later than it would be without shortcuts, or is not made again, gets
// the same units where these follow from what is free: policy low takes those that come first in
// the graph, and of what was free when the engine without shortcuts has chosen, only units that
// were not chosen are taken since. Policy first begins where most was free when something was last
// taken there, which jobs that have started in the meantime change: there the two are compared
// where no reservation is made later or again.
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

void expect_no_change_on_a_graph(const Setting& setting, const char* match_policy) {
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    SCOPED_TRACE(fmt::format("{}, {}, seed {}", setting.name, match_policy, seed));
    Manner manner{.match_policy = match_policy};
    const std::string starts = play(seed, setting, Over::graph, manner).starts;
    ASSERT_NE(starts, "");
    manner.shortcuts = false;
    EXPECT_EQ(play(seed, setting, Over::graph, manner).starts, starts);
  }
}

TEST(Shortcuts, ChangeNoStartOnAGraph) {
  for (const Setting& setting : all_settings()) expect_no_change_on_a_graph(setting, "low");
}

TEST(Shortcuts, ChangeNoStartWhereUnitsAreChosenByWhatWasTakenBefore) {
  int settings = 0;
  for (const Setting& setting : all_settings()) {
    if (!reserves_without_delay(setting)) continue;
    ++settings;
    expect_no_change_on_a_graph(setting, "first");
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
