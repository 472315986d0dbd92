// Work of the JobManager whose size a user chooses is done some at a time, and it does not show:
// not in what is started, and not where the broker is killed in the middle of it.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

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

TEST_F(Portions, NoPassIsMadeWhileJobsAreChangedButForSome) {
  auto held = jobs().hold_passes();
  const auto one = submit({});
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_EQ(state(one), "SCHED");
  held.reset();
  turn();
  EXPECT_EQ(state(one), "RUN");
  held = jobs().hold_passes();
  const auto other = submit({});
  for (int i = 0; i < 100 && state(other) != "RUN"; ++i) turn();
  EXPECT_EQ(state(other), "RUN")
      << "a client that changes jobs without end keeps all from starting";
}

TEST_F(Portions, WhatAnUpdateOfJobsThatDifferHasToReadIsReadBeforehand) {
  constexpr std::uint64_t kJobs = 210;
  msg::UpdateRequest ask;
  for (std::uint64_t i = 0; i < kJobs; ++i)
    ask.ids.push_back(submit({.limit = 100.0 + static_cast<double>(i), .urgency = 0}));
  ask.limit = 7'000;
  JobManager::ReadChanges read;
  int portions = 1;
  while (jobs().read_changed(ask, read, time_)) ++portions;
  EXPECT_GE(portions, 4);
  EXPECT_EQ(read.made.size(), kJobs);
  // One that has ended since is found out by the update, which then changes none.
  jobs().raise(JobId(ask.ids.back()), "cancel", "", time_);
  EXPECT_FALSE(jobs().update(ask, time_, &read));
  EXPECT_NE(jobs().find(JobId(ask.ids[0]))->submission->limit, 7'000);
  ask.ids.pop_back();
  read = {};
  while (jobs().read_changed(ask, read, time_)) continue;
  ASSERT_TRUE(jobs().update(ask, time_, &read));
  for (const auto id : ask.ids) ASSERT_EQ(jobs().find(JobId(id))->submission->limit, 7'000);
}

TEST_F(Portions, APassAfterAChangeOfResourcesIsShortThoughThoseBeforeItWereCheap) {
  config_ = *config::load_config({"queue.policy=conservative", "queue.depth=10000"});
  begin("node=1/core=1", {0});
  submit_running({.limit = 60});
  submit({.limit = 60, .count = 1'000});
  jobs().take_all(time_);
  settle();
  ASSERT_EQ(life_->scheduler.queues().front().reserved, 1'000u);
  jobs().resources_changed();
  jobs().schedule(time_);
  EXPECT_FALSE(jobs().settled()) << "a thousand jobs are planned anew in one turn";
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

// A graph in which each task waits for the one before it, and no two ask for the same.
class LargeGraph : public Portions {
 protected:
  static constexpr std::size_t kTasks = 4'300;

  static msg::GraphRequest graph() {
    msg::GraphRequest graph;
    graph.user = "ada";
    resource::JobShape shape;
    shape.command = {"/bin/true"};
    shape.cwd = "/";
    for (std::size_t i = 0; i < kTasks; ++i) {
      shape.duration_seconds = static_cast<double>(i + 1);
      graph.specs.push_back({resource::write_jobspec(*resource::jobspec_for(shape)), 1, 16});
      msg::GraphTask task{fmt::format("t{}", i), {static_cast<std::uint32_t>(i)}, {}, {}};
      if (i > 0) task.after = {{"afterok", i - 1}};
      graph.tasks.push_back(std::move(task));
    }
    return graph;
  }
  // Returns the number of the first task.
  std::uint64_t take(const msg::GraphRequest& ask) {
    const auto reply = jobs().submit_graph(ask, *read_specs(ask), time_);
    EXPECT_TRUE(reply) << to_string(reply.error());
    return reply ? reply->ids.front() : 0;
  }
  void enter_all(std::uint64_t first) {
    while (jobs().enter_more(JobId(first))) continue;
    jobs().take_all(time_);
  }
  // Are all tasks jobs, each once and as it was asked for?
  void expect_whole(std::uint64_t first) {
    for (std::size_t i = 0; i < kTasks; ++i) {
      const ActiveJob* const job = jobs().find(JobId(first + i));
      ASSERT_NE(job, nullptr) << i;
      ASSERT_EQ(job->submission->name, fmt::format("t{}", i));
      ASSERT_EQ(job->submission->limit, static_cast<Duration>(i + 1) * 1'000);
      ASSERT_EQ(job->submission->dependencies.size(), i > 0 ? 1u : 0u);
      if (i > 0) {
        const auto& before = job->submission->dependencies[0].text;
        ASSERT_EQ(before, fmt::format("afterok:{}", first + i - 1));
      }
      ASSERT_EQ(life_->journal.events_of(JobId(first + i))->size(), i > 0 ? 3u : 4u) << i;
    }
  }
};

TEST_F(LargeGraph, IsEnteredAThousandTasksATurn) {
  const std::int64_t before = life_->journal.next_event();
  const auto first = take(graph());
  std::vector<std::int64_t> written{life_->journal.next_event() - before};
  for (bool more = true; more;) {
    const std::int64_t until_now = life_->journal.next_event();
    commit();
    more = jobs().enter_more(JobId(first));
    written.push_back(life_->journal.next_event() - until_now);
  }
  EXPECT_EQ(written.size(), 5u);
  for (const std::int64_t events : written) EXPECT_LE(events, 2'010);
  jobs().take_all(time_);
  EXPECT_EQ(jobs().active().size(), kTasks);
  expect_whole(first);
}

TEST_F(LargeGraph, IsWholeAfterABrokerThatWasKilledBetweenAnyTwoPortions) {
  take(graph());
  crash();
  EXPECT_TRUE(jobs().active().empty()) << "it was not taken: nothing was committed";
  EXPECT_EQ(jobs().next_id(), JobId(1));
  for (int portions = 1; portions <= 5; ++portions) {
    begin(shape_, agents_);
    const auto first = take(graph());
    commit();
    for (int i = 1; i < portions; ++i) {
      jobs().enter_more(JobId(first));
      commit();
    }
    jobs().enter_more(JobId(first));  // is not committed
    crash();
    EXPECT_EQ(jobs().active().size(), kTasks);
    expect_whole(first);
    EXPECT_EQ(jobs().next_id(), JobId(first + kTasks));
    commit();
    crash();  // finds nothing more to enter
    EXPECT_EQ(jobs().active().size(), kTasks);
    expect_whole(first);
  }
}

TEST_F(LargeGraph, TwoAtOnceAreBothWhole) {
  const auto one = take(graph());
  jobs().enter_more(JobId(one));
  const auto other = take(graph());
  EXPECT_EQ(other, one + kTasks);
  jobs().enter_more(JobId(other));
  jobs().enter_more(JobId(one));
  commit();
  crash();
  EXPECT_EQ(jobs().active().size(), 2 * kTasks);
  expect_whole(one);
  expect_whole(other);
}

TEST_F(LargeGraph, ComesBeforeWhatIsSubmittedWhileItIsEntered) {
  const Time then = time_;
  const auto first = take(graph());
  commit();
  time_ += 1'000;
  const auto last = first + kTasks - 1;
  const auto other = submit({});
  EXPECT_EQ(other, last + 1);
  const auto waiter = submit({.after = fmt::format("afterany:{}", last)});
  jobs().raise(JobId(last), "cancel", "it is no job yet", time_);
  enter_all(first);
  EXPECT_EQ(life(last).t_submit, then);
  EXPECT_GT(life(other).t_submit, then);
  settle();
  EXPECT_EQ(state(waiter), "DEPEND") << "what it waits for was there before it";
  EXPECT_EQ(state(last), "DEPEND");
}

}  // namespace
}  // namespace holon::instance
