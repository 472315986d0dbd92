// Whoever only looks changes nothing: with questions asked at every point between events, at and
// between passes, all decisions are to the byte those that are made without.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/qmanager/properties/history.hpp"

namespace holon::tests {
namespace {

TEST(Observers, ChangeNoDecision) {
  for (const Setting& setting : all_settings()) {
    for (const Over over : {Over::numbers, Over::graph})
      for (unsigned seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(fmt::format("{}, over {}, seed {}", setting.name, to_string(over), seed));
        const std::string unseen = play(seed, setting, over).all;
        ASSERT_NE(unseen, "");
        ASSERT_EQ(play(seed, setting, over, {.asks = true}).all, unseen);
      }
  }
}

}  // namespace
}  // namespace holon::tests
