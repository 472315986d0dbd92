// Whoever only looks changes nothing: with questions asked at every point between events, at and
// between passes, all decisions are to the byte those that are made without.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/qmanager/properties/history.hpp"

namespace holon::tests {
namespace {

void expect_no_change(const Setting& setting, Over over, const char* match_policy,
                      unsigned in_suite) {
  for (unsigned seed = 0; seed < histories(in_suite); ++seed) {
    SCOPED_TRACE(
        fmt::format("{}, over {}, {}, seed {}", setting.name, to_string(over), match_policy, seed));
    Manner manner{.match_policy = match_policy};
    const std::string unseen = play(seed, setting, over, manner).all;
    ASSERT_NE(unseen, "");
    manner.asks = true;
    ASSERT_EQ(play(seed, setting, over, manner).all, unseen);
  }
}

// Faults planted in what a fork shares with its origin were found by the first five histories.
TEST(Observers, ChangeNoDecision) {
  for (const Setting& setting : all_settings()) {
    for (const Over over : {Over::numbers, Over::graph})
      expect_no_change(setting, over, "first", 6);
    if (HasFatalFailure()) return;
  }
}

TEST(Observers, ChangeNoDecisionUnderAnyMatchPolicy) {
  for (const Setting& setting : all_settings())
    for (const char* match_policy : {"firstnodex", "high", "low", "hinode", "lonode", "hinodex",
                                     "lonodex", "locality", "variation"}) {
      expect_no_change(setting, Over::graph, match_policy, 1);
      if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace holon::tests
