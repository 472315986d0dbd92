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

// What a child has of its own, what may be fenced after a minute, and after two.
class SureEndsTest : public ::testing::Test {
 protected:
  static holdings::Units units(const char* text) { return *Idset::parse(text); }
  SureEnds::Ends at(Time now) { return ends_.changes(has_, reach_, now); }

  const holdings::Units minute_ = units("2-3"), two_ = units("4");
  std::vector<holdings::Holding> has_ = {
      {.units = units("0-1")},
      {.units = minute_, .source = holdings::Source::extra, .until = 900'000, .fence = kFence},
      {.units = two_, .source = holdings::Source::extra, .fence = 2 * kFence}};
  ParentReach reach_;
  SureEnds ends_;
};

//  s  0          10                    40                70        80
//     |  asked --|                      |                 |  asked --|
//     |          |== a minute's is used ==|                |         |== used ==
//     |          |== that of two minutes is used ==========|         |== used ==
TEST_F(SureEndsTest, WhatMayBeTakenIsUsedForHalfOfItsTimeFromEachAnswer) {
  EXPECT_EQ(at(0), (SureEnds::Ends{{minute_, 0}, {two_, 0}})) << "nothing was answered yet";
  EXPECT_EQ(ends_.next(), std::nullopt);
  reach_.answered(10'000, -1);
  EXPECT_EQ(at(10'001), (SureEnds::Ends{{minute_, 900'000}, {two_, kTimeMax}}));
  EXPECT_EQ(ends_.next(), 40'000);
  EXPECT_TRUE(at(39'999).empty());
  EXPECT_EQ(at(40'000), (SureEnds::Ends{{minute_, 0}}));
  EXPECT_EQ(ends_.next(), 70'000);
  EXPECT_EQ(at(70'000), (SureEnds::Ends{{two_, 0}}));
  EXPECT_EQ(ends_.next(), std::nullopt);
  reach_.answered(80'000, -1);
  EXPECT_EQ(at(80'001).size(), 2u);
}

// A broker makes thousands of turns a second, and what it was lent may be thousands of cores.
TEST_F(SureEndsTest, IsToldWhenSomethingHasChangedAndNotInEachTurn) {
  reach_.answered(10'000, -1);
  EXPECT_EQ(at(10'001).size(), 2u);
  reach_.answered(20'000, -1);
  EXPECT_TRUE(at(20'001).empty()) << "it is sure for longer, and ends when it did";
  EXPECT_EQ(ends_.next(), 50'000);
  has_.pop_back();
  EXPECT_TRUE(at(20'002).empty());
  has_.push_back({.units = two_, .source = holdings::Source::extra, .fence = 2 * kFence});
  EXPECT_EQ(at(20'003), (SureEnds::Ends{{two_, kTimeMax}})) << "it has come again";
  ends_.forget();
  EXPECT_EQ(at(20'004).size(), 2u) << "the graph is another one";
}

}  // namespace
}  // namespace holon::instance
