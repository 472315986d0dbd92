// How long a child goes by what may be taken from it.
#include "instance/grants/reach.hpp"

#include <gtest/gtest.h>

namespace holon::instance {
namespace {

constexpr Duration kFence = 60'000;

TEST(ParentReach, IsSureOfNothingBeforeTheFirstAnswer) {
  const ParentReach reach;
  EXPECT_EQ(reach.sure_until(kFence), 0);
  EXPECT_EQ(reach.sure_until(0), kTimeMax) << "it may never be taken";
}

TEST(ParentReach, CountsFromWhenItHasAskedAndForHalfOfTheTime) {
  ParentReach reach;
  reach.answered(1'000, -1);
  EXPECT_EQ(reach.sure_until(kFence), 31'000);
  reach.answered(500, -1);  // overtaken
  EXPECT_EQ(reach.sure_until(kFence), 31'000);
  reach.answered(2'000, -1);
  EXPECT_EQ(reach.sure_until(kFence), 32'000);
}

TEST(ParentReach, GoesByWhatIsNotItsParentsOwnForNoLongerThanThatMay) {
  ParentReach reach;
  reach.answered(1'000, 5'000);
  EXPECT_EQ(reach.sure_until(kFence), 6'000);
  reach.answered(3'000, 0);  // the parent is out of reach of its own
  EXPECT_EQ(reach.sure_until(kFence), 3'000);
  reach.answered(4'000, -1);
  EXPECT_EQ(reach.sure_until(kFence), 34'000);
}

TEST(ParentReach, AsksOftenEnoughToLoseSomeAnswers) {
  EXPECT_LE(3 * ParentReach::interval(kFence), kFence / 2);
  EXPECT_GT(ParentReach::interval(1), 0);
}

}  // namespace
}  // namespace holon::instance
