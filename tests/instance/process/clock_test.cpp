// Instance time over clocks that the test sets.
#include "instance/basics/clock.hpp"

#include <gtest/gtest.h>

namespace holon::instance {
namespace {

constexpr Time kNow = 1'700'000'000'000;
constexpr Duration kHour = 3'600'000;

class InstanceClockTest : public ::testing::Test {
 protected:
  InstanceClock fresh(const std::string& boot = "this") {
    return InstanceClock(boot, [this] { return reading_; });
  }
  InstanceClock later_broker(const std::string& kept, Time at_least = 0,
                             const std::string& boot = "this") {
    InstanceClock clock = fresh(boot);
    clock.go_on(kept, at_least);
    return clock;
  }
  void pass(Duration ms) {
    reading_.wall += ms;
    reading_.since_boot += ms;
  }
  void set_wall(Duration by) { reading_.wall += by; }
  void start_machine_again() { reading_.since_boot = 7'000; }

  ClockReading reading_{kNow, 50'000'000};
};

TEST_F(InstanceClockTest, BeginsWithTheWallClock) {
  InstanceClock clock = fresh();
  EXPECT_EQ(clock.now(), kNow);
  pass(250);
  EXPECT_EQ(clock.now(), kNow + 250);
  EXPECT_EQ(clock.offset(), 0);
}

TEST_F(InstanceClockTest, GoesOnAsBeforeWhereTheWallClockIsSet) {
  for (const Duration step : {-2 * kHour, Duration{-5'000}, 2 * kHour}) {
    reading_ = {kNow, 50'000'000};
    InstanceClock clock = fresh();
    pass(1'000);
    set_wall(step);
    EXPECT_EQ(clock.now(), kNow + 1'000);
    EXPECT_EQ(clock.offset(), step);
    EXPECT_EQ(clock.wall(kNow), kNow + step) << "as people's clocks show it now";
    EXPECT_EQ(clock.instance(kNow + step), kNow);
    pass(1'000);
    EXPECT_EQ(clock.now(), kNow + 2'000);
  }
}

TEST_F(InstanceClockTest, DifferencesBetweenTwoReadingsAreNoStep) {
  InstanceClock clock = fresh();
  for (int i = 0; i < 100; ++i) {
    pass(1'000);
    reading_.wall = kNow + (i + 1) * 1'000 + (i % 3 - 1) * 100;
    clock.now();
    EXPECT_EQ(clock.wall(kNow), kNow) << "a listing shows the same time again";
  }
}

TEST_F(InstanceClockTest, ManySmallStepsAreSeenTogether) {
  InstanceClock clock = fresh();
  for (int i = 0; i < 10; ++i) {
    set_wall(200);
    clock.now();
  }
  EXPECT_GE(clock.offset(), 2'000 - 500);
}

TEST_F(InstanceClockTest, ALaterBrokerGoesOnExactlyWhereverTheWallClockIs) {
  for (const Duration step : {-2 * kHour, Duration{-5'000}, Duration{0}, 2 * kHour}) {
    reading_ = {kNow, 50'000'000};
    InstanceClock first = fresh();
    pass(10'000);
    first.now();
    const std::string kept = first.text_to_keep();
    pass(3'000);
    set_wall(step);
    InstanceClock second = later_broker(kept, kNow + 9'000);
    EXPECT_EQ(second.now(), kNow + 13'000);
    EXPECT_EQ(second.offset(), step);
  }
}

TEST_F(InstanceClockTest, AnOffsetIsTheSameForALaterBroker) {
  InstanceClock first = fresh();
  set_wall(-2 * kHour);
  first.now();
  const std::string kept = first.text_to_keep();
  set_wall(3);  // the readings differ a little
  EXPECT_EQ(later_broker(kept).offset(), first.offset());
}

TEST_F(InstanceClockTest, AfterAnotherStartOfTheMachineItIsTheLaterOfWallClockAndWhatWasWritten) {
  InstanceClock first = fresh();
  pass(10'000);
  first.now();
  const std::string kept = first.text_to_keep();
  start_machine_again();
  set_wall(kHour);
  EXPECT_EQ(later_broker(kept, 0, "next").now(), kNow + 10'000 + kHour);
  set_wall(-2 * kHour);
  EXPECT_EQ(later_broker(kept, 0, "next").now(), kNow + 10'000);
  EXPECT_EQ(later_broker(kept, kNow + 12'000, "next").now(), kNow + 12'000) << "the last event";
  EXPECT_EQ(later_broker(kept, 0, "this").now(), kNow + 10'000)
      << "the time since the start went back: it was another one, whatever it is called";
  EXPECT_EQ(later_broker(kept, 0, "").now(), kNow + 10'000);
}

TEST_F(InstanceClockTest, WithoutWhatWasKeptTheEventsSayHowFarItWas) {
  set_wall(-kHour);
  EXPECT_EQ(later_broker("", kNow).now(), kNow);
  EXPECT_EQ(later_broker("", kNow).offset(), -kHour);
  EXPECT_EQ(later_broker("", 0).now(), kNow - kHour);
}

TEST_F(InstanceClockTest, NonsenseIsTakenForNothing) {
  for (const char* kept : {"x", "1 2", "-5 3 0 this", "0 0 0 this", "99999999999999999 1 0 this",
                           "99999999999999999999999 1 0 this", "1700000000000 -1 0 this",
                           "1700000000000 1 999999999999999999 this"})
    EXPECT_EQ(later_broker(kept).now(), kNow) << kept;
  EXPECT_EQ(later_broker("", kTimeMax - 1).now(), kNow);
}

TEST_F(InstanceClockTest, NoneAndNoEndStayWhatTheyAre) {
  InstanceClock clock = fresh();
  set_wall(-2 * kHour);
  clock.now();
  for (const Time t : {Time{0}, kTimeMax, Time{-1}, std::numeric_limits<Time>::min()}) {
    EXPECT_EQ(clock.wall(t), t);
    EXPECT_EQ(clock.instance(t), t);
  }
  EXPECT_EQ(clock.instance(kTimeMax - 1), kTimeMax) << "not beyond it";
}

}  // namespace
}  // namespace holon::instance
