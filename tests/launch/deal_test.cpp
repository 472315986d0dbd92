// Numbers that are dealt in turn.
#include "launch/tasks/deal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace holon::launch {
namespace {

using Dealt = std::vector<std::vector<std::uint32_t>>;

TEST(Deal, GoesRoundAndPassesOverWhoHasAll) {
  EXPECT_EQ(deal({2, 2}), (Dealt{{0, 2}, {1, 3}}));
  EXPECT_EQ(deal({1, 0, 3}), (Dealt{{0}, {}, {1, 2, 3}}));
  EXPECT_EQ(deal({}), Dealt());
}

RC_GTEST_PROP(Deal, EachNumberOnceAndToEachAsManyAsItHas, ()) {
  const auto counts =
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 20));
  std::vector<std::uint32_t> all;
  const auto dealt = deal(counts);
  RC_ASSERT(dealt.size() == counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    RC_ASSERT(dealt[i].size() == counts[i]);
    RC_ASSERT(std::is_sorted(dealt[i].begin(), dealt[i].end()));
    all.insert(all.end(), dealt[i].begin(), dealt[i].end());
  }
  std::sort(all.begin(), all.end());
  for (std::uint32_t i = 0; i < all.size(); ++i) RC_ASSERT(all[i] == i);
}

}  // namespace
}  // namespace holon::launch
