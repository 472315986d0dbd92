#include "base/time.hpp"

#include <gtest/gtest.h>

namespace holon {
namespace {

TEST(Time, SumsAndDifferencesStayWithinTheClock) {
  EXPECT_EQ(saturating_add(5, 3), 8);
  EXPECT_EQ(saturating_add(kTimeMax - 1, 5), kTimeMax);
  EXPECT_EQ(saturating_add(-5, kTimeMax), kTimeMax - 5);
  EXPECT_EQ(distance(3, 8), 5);
  EXPECT_EQ(distance(8, 3), 0);
  EXPECT_EQ(distance(-5, kTimeMax), kTimeMax);
}

TEST(Interval, IsHalfOpenAndItsLengthStaysWithinTheClock) {
  EXPECT_EQ((Interval{3, 8}.length()), 5);
  EXPECT_EQ((Interval{8, 3}.length()), 0);
  EXPECT_EQ((Interval{-5, kTimeMax}.length()), kTimeMax);
  EXPECT_TRUE((Interval{3, 8}.contains(3)));
  EXPECT_FALSE((Interval{3, 8}.contains(8)));
  EXPECT_FALSE((Interval{3, 8}.overlaps({8, 9})));
  EXPECT_TRUE((Interval{3, 8}.within({3, 8})));
  EXPECT_FALSE((Interval{3, 9}.within({3, 8})));
  EXPECT_FALSE((Interval{4, 4}.within({3, 8})));
}

}  // namespace
}  // namespace holon
