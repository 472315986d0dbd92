// A layer says what it counts, and the rest is as the machine below has it: one that says nothing
// changes nothing.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/qmanager/properties/history.hpp"

namespace holon::tests {
namespace {

TEST(Layers, OneThatSaysNothingIsTheMachineBelow) {
  for (const Setting& setting : all_settings())
    for (const Over over : {Over::numbers, Over::graph})
      for (unsigned seed = 20; seed < 20 + histories(3); ++seed) {
        SCOPED_TRACE(fmt::format("{}, over {}, seed {}", setting.name, to_string(over), seed));
        ASSERT_EQ(play(seed, setting, over, {.asks = true, .layered = true}).all,
                  play(seed, setting, over, {.asks = true}).all);
      }
}

}  // namespace
}  // namespace holon::tests
