// Work of the JobManager whose size a user chooses is done some at a time, and it does not show:
// not in what is started, and not where the broker is killed in the middle of it.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/world/units/manager_scene.hpp"

namespace holon::instance {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;

constexpr std::uint64_t kWaiters = 1'700;

class Portions : public testing::ManagerScene {
 protected:
  // A job that is held, and thousands that wait for it: the first of them.
  std::uint64_t submit_waiters(const std::string& scheme) {
    first_ = submit({.urgency = 0});
    const auto waiter = submit({.count = kWaiters, .after = fmt::format("{}:{}", scheme, first_)});
    while (jobs().next_intake()) jobs().take_more(*jobs().next_intake(), time_);
    settle();
    told();
    return waiter;
  }
  void cancel_first() { jobs().raise(JobId(first_), "cancel", "a user says so", time_); }
  // One turn of a broker.
  void turn() {
    jobs().schedule(time_);
    commit();
  }
  int settle() {
    int turns = 0;
    for (; jobs().next_turn(time_) && *jobs().next_turn(time_) <= time_ && turns < 1'000; ++turns)
      turn();
    return turns;
  }
  std::uint64_t in_state(JobState state) {
    std::uint64_t n = 0;
    for (const auto& [id, job] : jobs().active()) n += job.life.state == state ? 1 : 0;
    return n;
  }
  // How often each job was said to have ended.
  void count_ends() {
    for (const auto& what : told())
      if (const auto gap = what.find(' '); what.find("start") != 0 && what.find("kill") != 0)
        ++ends_[std::stoull(what.substr(gap + 1))];
  }

  std::uint64_t first_ = 0;
  std::map<std::uint64_t, int> ends_;
};

TEST_F(Portions, ThousandsThatMayRunAreLetGoBeforeOneIsStarted) {
  const auto waiter = submit_waiters("afterany");
  EXPECT_EQ(in_state(JobState::depend), kWaiters);
  cancel_first();
  turn();
  EXPECT_THAT(in_state(JobState::depend), AllOf(Gt(0u), Lt(kWaiters)))
      << "all in one turn, or none";
  EXPECT_EQ(in_state(JobState::run), 0u) << "started before others had their say";
  EXPECT_GT(settle(), 1);
  EXPECT_EQ(in_state(JobState::depend), 0u);
  EXPECT_EQ(in_state(JobState::run), 4u);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(state(waiter + i), "RUN");
}

TEST_F(Portions, ThousandsThatCanNeverRunEndOnceThoughTheBrokerIsKilledInBetween) {
  const auto waiter = submit_waiters("afterok");
  cancel_first();
  turn();
  EXPECT_THAT(in_state(JobState::depend), AllOf(Gt(0u), Lt(kWaiters)));
  count_ends();
  for (int killed = 0; killed < 2; ++killed) {
    jobs().schedule(time_);  // is not committed
    told();
    crash();
    turn();
    count_ends();
  }
  settle();
  count_ends();
  for (std::uint64_t id = waiter; id < waiter + kWaiters; ++id) {
    ASSERT_EQ(result(id), "FAILED") << id;
    ASSERT_EQ(ends_[id], 1) << id;
  }
}

// A client that submits more and more jobs with dependencies does not keep others from starting.
TEST_F(Portions, JobsStartThoughOthersAreLetGoWithoutEnd) {
  submit_waiters("afterany");
  const auto other = submit({});
  for (int i = 0; i < 100 && state(other) != "RUN"; ++i) {
    jobs().wall_clock_was_set();  // all that wait are looked at again
    turn();
  }
  EXPECT_EQ(state(other), "RUN");
}

TEST_F(Portions, AChainThatEndsIsNotATurnForEachOfItsJobs) {
  const auto first = submit({.urgency = 0});
  for (std::uint64_t i = 0; i < 300; ++i) submit({.after = fmt::format("afterok:{}", first + i)});
  settle();
  jobs().raise(JobId(first), "cancel", "a user says so", time_);
  EXPECT_LT(settle(), 10);
  EXPECT_EQ(result(first + 300), "FAILED");
}

TEST_F(Portions, APassThatPlansManyReservationsIsCut) {
  config_ = *config::load_config({"queue.policy=conservative", "queue.depth=10000"});
  begin("node=1/core=1", {0});
  submit_running({.limit = 60});
  submit({.limit = 60, .count = 500});
  jobs().schedule(time_);
  EXPECT_FALSE(jobs().settled()) << "all in one turn";
  settle();
  EXPECT_EQ(life_->scheduler.queues().front().reserved, 500u);
}

}  // namespace
}  // namespace holon::instance
