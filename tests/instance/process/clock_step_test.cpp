// The wall clock of a live instance is set while jobs run, wait and have limits, and while its
// broker is killed: no core is given twice, no limit and no lease moves.
#include <gmock/gmock.h>

#include "instance/basics/clock.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/process/tampered_clock.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::TamperedClock;

constexpr Duration kAnHour = 3'600'000;

class ClockStep : public ::testing::TestWithParam<Duration> {
 protected:
  void SetUp() override {
    if (!TamperedClock::kAvailable) GTEST_SKIP();
  }
  // Returns when the instance knows.
  void set_clock(const Live& live, Duration by) {
    clock_.set(by);
    const auto seen = [&] { return live.status()->t_started - started_; };
    EXPECT_TRUE(eventually([&] { return std::abs(seen() - by) < 500; })) << seen();
  }
  void remember(const Live& live) { started_ = live.status()->t_started; }

  TamperedClock clock_;
  Time started_ = 0;  // as it was shown before the clock was set
};

INSTANTIATE_TEST_SUITE_P(By, ClockStep, ::testing::Values(-2 * kAnHour, -5'000, 2 * kAnHour),
                         [](const auto& step) {
                           return step.param == -5'000 ? "5SecondsBack"
                                  : step.param < 0     ? "2HoursBack"
                                                       : "2HoursForward";
                         });

std::string clock_log_of(const Live& live) {
  return testing::read_file(live.dir() + "/state/instance.log");
}

TEST_P(ClockStep, WhatIsHeldStaysHeld) {
  const Live live({"--resources", "node=1/core=4"});
  remember(live);
  const auto holder = live.job(live.gated("gate"), {4, 600});
  live.when_running(holder);
  set_clock(live, GetParam());
  EXPECT_EQ(live.status()->cores_free, 0);
  const auto second = live.job({"/bin/true"}, {4, 2});
  EXPECT_EQ(live.record(second).state, "SCHED");
  live.kill_broker();
  EXPECT_EQ(live.status()->cores_free, 0);
  EXPECT_EQ(live.record(second).state, "SCHED");
  clock_.set(0);
  live.kill_broker();
  EXPECT_EQ(live.status()->cores_free, 0);
  EXPECT_EQ(live.record(second).state, "SCHED");
  live.release("gate");
  EXPECT_EQ(live.wait_one(holder).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(second).result, "COMPLETED");
  EXPECT_GE(live.record(second).t_alloc, live.record(holder).t_finish);
  EXPECT_THAT(clock_log_of(live), HasSubstr("the wall clock was set "));
}

TEST_P(ClockStep, LimitsAreAsLongAsTheyWere) {
  const Live live({"--resources", "node=1/core=2"});
  remember(live);
  const auto limited = live.job(live.gated("gate"), {1, 600});
  const auto before = live.when_running(limited);
  set_clock(live, GetParam());
  const auto after = live.record(limited);
  EXPECT_EQ(after.expiration - after.t_alloc, before.expiration - before.t_alloc);
  EXPECT_NEAR(double(after.t_alloc - before.t_alloc), double(GetParam()), 2'000)
      << "as clocks show it";
  const auto ended = live.wait_one(live.job({"/bin/sleep", "600"}, {1, 0.3}));
  EXPECT_EQ(ended.result, "TIMEOUT");
  EXPECT_GE(ended.t_finish - ended.t_start, 290) << "each is a whole ms of two clocks";
  EXPECT_LT(ended.t_finish - ended.t_start, 60'000);
  live.release("gate");
  EXPECT_EQ(live.wait_one(limited).result, "COMPLETED");
}

TEST_P(ClockStep, AChildKeepsItsLeaseAndItsJobs) {
  const Live live({"--resources", "node=1/core=4"});
  remember(live);
  const auto child = live.child({2, 3600});
  const std::string path = "/" + std::to_string(child);
  live.when_running(child);
  const auto job = live.job(live.gated("gate"), {1, 600}, path);
  const auto before = live.when_running(job, path);
  const auto left = [&] {
    const auto node = live.status(path);
    return node ? node->expiration - node->t_started : 0;
  };
  const Duration lease = left();
  EXPECT_NEAR(double(lease), double(kAnHour), 20'000);
  set_clock(live, GetParam());
  EXPECT_EQ(left(), lease);
  live.kill_broker();
  testing::signal_process(static_cast<pid_t>(live.status(path)->pid), SIGKILL);
  EXPECT_TRUE(eventually([&] { return left() == lease; }))
      << "read again after a reconnect, by a later broker: " << left();
  const auto after = live.record(job, path);
  EXPECT_EQ(after.state, "RUN");
  EXPECT_EQ(after.expiration - after.t_alloc, before.expiration - before.t_alloc);
  EXPECT_LE(live.status(path)->expiration, live.record(child).expiration + 5'000);
  EXPECT_TRUE(alive(static_cast<pid_t>(before.pids.at(0))));
  live.release("gate");
  EXPECT_EQ(live.wait_one(job, path).result, "COMPLETED");
  live.cancel(child);
  live.wait_one(child);
}

TEST_P(ClockStep, AnInstanceThatWasStoppedGoesOnWhereItWas) {
  Live live({"--resources", "node=1/core=1"});
  const auto before = live.wait_one(live.job({"/bin/true"}));
  live.stop();
  clock_.set(GetParam());
  live.start();
  const auto after = live.wait_one(live.job({"/bin/true"}));
  const Duration passed = after.t_submit - GetParam() - before.t_inactive;
  EXPECT_GE(passed, -500) << "the clock as it is shown is right to half a second";
  EXPECT_LT(passed, 60'000);
}

JobOptions beginning_in(Duration ms) {
  JobOptions options;
  options.system = R"({"dependencies":[{"scheme":"begin-time","value":")" +
                   std::to_string((wall_clock_ms() + ms) / 1000) + R"("}]})";
  return options;
}

TEST(ClockSteps, ABeginTimeFollowsTheWallClock) {
  if (!TamperedClock::kAvailable) GTEST_SKIP();
  TamperedClock clock;
  const Live live({"--resources", "node=1/core=2"});
  const auto in_an_hour = live.job({"/bin/true"}, beginning_in(kAnHour));
  const auto in_three = live.job({"/bin/true"}, beginning_in(3 * kAnHour));
  EXPECT_EQ(live.record(in_an_hour).state, "DEPEND");
  clock.set(2 * kAnHour);
  EXPECT_EQ(live.wait_one(in_an_hour).result, "COMPLETED");
  EXPECT_EQ(live.record(in_three).state, "DEPEND");
  clock.set(-2 * kAnHour);
  live.kill_broker();
  EXPECT_EQ(live.record(in_three).state, "DEPEND");
  clock.set(4 * kAnHour);
  EXPECT_EQ(live.wait_one(in_three).result, "COMPLETED");
}

TEST(ClockSteps, AnAdvanceReservationStaysWhereItWasGranted) {
  if (!TamperedClock::kAvailable) GTEST_SKIP();
  TamperedClock clock;
  const Live live({"--resources", "node=1/core=2"});
  msg::ReserveRequest ask;
  ask.jobspec = Live::request({"reservation"}, {2}).jobspec;
  ask.begin = wall_clock_ms() + kAnHour;
  ask.end = ask.begin + kAnHour;
  ask.user = "ada";
  ASSERT_TRUE(live.call<msg::ReserveReply>("reserve", ask));
  const auto begins = [&] {
    const auto list = live.call<msg::ReservationsReply>("reservations", msg::Empty{});
    return list && list->reservations.size() == 1 ? list->reservations[0].begin : 0;
  };
  EXPECT_EQ(begins(), ask.begin);
  clock.set(-5'000);
  EXPECT_TRUE(eventually([&] { return std::abs(begins() - (ask.begin - 5'000)) < 2'000; }))
      << begins();
  live.kill_broker();
  EXPECT_NEAR(double(begins()), double(ask.begin - 5'000), 2'000);
}

}  // namespace
}  // namespace holon::instance
