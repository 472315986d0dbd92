// When jobs are ended, and what they are told: limits, reservations, the instance's own end.
#include <gmock/gmock.h>

#include "instance/basics/clock.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

JobOptions beginning_at(std::int64_t ms, double duration = 0) {
  JobOptions options;
  options.duration = duration;
  options.system =
      R"({"dependencies":[{"scheme":"begin-time","value":")" + std::to_string(ms / 1000) + "\"}]}";
  return options;
}

// Grid Engine's default_duration and DURATION_OFFSET are for planning.
TEST(Limits, WhatIsPlannedForAJobDoesNotEndIt) {
  const Live live({"--resources", "node=1/core=2", "--conf", "queue.default-duration=1s", "--conf",
                   "queue.duration-offset=1h"});
  const auto open = live.when_running(live.job(live.gated("open")));
  EXPECT_EQ(open.expiration, 0);
  const auto limited = live.when_running(live.job(live.gated("limited"), {1, 60}));
  EXPECT_EQ(limited.expiration, limited.t_alloc + 60'000);
  live.release("open");
  live.release("limited");
  EXPECT_EQ(live.wait_one(open.id).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(limited.id).result, "COMPLETED");
}

// Maui's JOBMAXOVERRUN.
TEST(Limits, AJobMayRunPastItsLimitForAsLongAsIsConfigured) {
  const Live live({"--resources", "node=1/core=2", "--conf", "job.max-overrun=1h"});
  const auto job = live.when_running(live.job(live.gated("gate"), {1, 0.05}));
  EXPECT_EQ(job.limit, 50);
  EXPECT_EQ(job.expiration, job.t_alloc + 50 + 3'600'000);
  ASSERT_TRUE(eventually([&] { return wall_clock_ms() > job.t_alloc + 50; }));
  live.release("gate");
  EXPECT_EQ(live.wait_one(job.id).result, "COMPLETED");
  // A child's time is its lease.
  const auto child = live.record(live.child({1, 600}));
  EXPECT_EQ(live.when_running(child.id).expiration, live.record(child.id).t_alloc + 600'000);
}

TEST(Limits, AJobIsEndedWhenItsOverrunIsOver) {
  const Live live({"--resources", "node=1/core=1", "--conf", "job.max-overrun=300ms"});
  const auto over = live.wait_one(live.job({"/bin/sleep", "600"}, {1, 0.05}));
  EXPECT_EQ(over.result, "TIMEOUT");
  EXPECT_EQ(over.reason, "its time limit was reached");
  EXPECT_GE(over.t_finish - over.t_alloc, 350);
}

TEST(Limits, AreCutAtTheEndOfTheInstance) {
  const Live live(
      {"--resources", "node=1/core=2", "-t", "1h", "--conf", "queue.default-duration=1s"});
  const auto end = live.status()->expiration;
  EXPECT_EQ(live.when_running(live.job(live.gated("gate"))).expiration, end);
  live.release("gate");
}

TEST(Limits, OfTheConfigurationAreNoReasonToRefuseAJob) {
  const Live live({"--resources", "node=1/core=1", "-t", "1h", "--conf", "job.default-limit=2h"});
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  EXPECT_FALSE(live.submit({"/bin/true"}, {1, 7200}));
}

TEST(Limits, AJobThatMayNotBeginInTimeIsRefused) {
  const Live live({"--resources", "node=1/core=1", "-t", "1h"});
  const auto late = live.submit({"/bin/true"}, beginning_at(wall_clock_ms() + 7'200'000));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::unsatisfiable);
  EXPECT_THAT(late.error().what, HasSubstr("it may begin in "));
  const auto long_one =
      live.submit({"/bin/true"}, beginning_at(wall_clock_ms() + 1'800'000, 2'700));
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().what, HasSubstr("asks for 45m beginning in "));
  EXPECT_TRUE(live.submit({"/bin/true"}, beginning_at(wall_clock_ms() + 1'200'000, 600)));
}

}  // namespace
}  // namespace holon::instance
