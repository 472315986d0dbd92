// JobManager: what it promises to who commits, starts and reports. Nobody is there but the journal
// and who writes down what happens (manager_scene.hpp).
#include "instance/manager/manager.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <random>

#include "tests/world/units/manager_scene.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using JobManagerTest = testing::ManagerScene;

TEST_F(JobManagerTest, AJobGoesThroughItsLifeAndEachStepIsToldOnce) {
  const auto id = submit({.cores = 2, .tasks = 2});
  EXPECT_THAT(told(), IsEmpty());
  jobs().schedule(time_);
  EXPECT_THAT(told(), ElementsAre("start 1"));
  EXPECT_EQ(free_cores(), 0);
  start(id);
  start(id);
  EXPECT_EQ(life(id).parts.front().processes.size(), 1u);
  end(id, 0);
  end(id, 7);
  EXPECT_THAT(told(), ElementsAre("COMPLETED 1"));
  EXPECT_EQ(free_cores(), 4);
  EXPECT_EQ(jobs().find(JobId(id)), nullptr);
  EXPECT_EQ(result(id), "COMPLETED") << "what is told again is no news";
  const auto events = life_->journal.events_of(JobId(id));
  std::string names;
  for (const auto& event : *events) names += std::string(name_of(event.body)) + " ";
  EXPECT_EQ(names, "submit validate depend priority alloc start finish release free clean ");
}

TEST_F(JobManagerTest, WhatIsNotCommittedHasNotHappened) {
  submit({});
  crash();
  EXPECT_THAT(jobs().active(), IsEmpty());
  EXPECT_EQ(jobs().next_id(), JobId(1));
  const auto id = submit({.cores = 2, .tasks = 2});
  commit();
  jobs().schedule(time_);
  EXPECT_THAT(told(), ElementsAre("start 1"));
  crash();
  EXPECT_EQ(state(id), "SCHED") << "its start was told, and not committed: nobody acts before that";
  EXPECT_EQ(free_cores(), 4);
  EXPECT_EQ(jobs().next_id(), JobId(2));
}

TEST_F(JobManagerTest, ALaterOneHoldsTheSameCoresAndStartsWhatMayNotHaveBeenStarted) {
  const auto runs = submit_running({.cores = 1});
  const auto began = submit({.cores = 2});
  jobs().schedule(time_);
  commit();
  const auto before = *jobs().find(JobId(runs));
  crash();
  const ActiveJob* const after = jobs().find(JobId(runs));
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->life, before.life);
  EXPECT_EQ(after->allocation->shares, before.allocation->shares);
  EXPECT_EQ(free_cores(), 1);
  EXPECT_EQ(state(began), "RUN");
  EXPECT_EQ(next_step(life(began), 0), Step::start) << "whether it runs its agent knows";
  EXPECT_EQ(next_step(life(runs), 0), Step::watch);
}

TEST_F(JobManagerTest, ACancelledJobHoldsWhatItHoldsUntilItsTasksAreGone) {
  const auto id = submit_running({.cores = 2, .tasks = 2});
  const auto next = submit({.cores = 1});
  told();
  jobs().raise(JobId(id), "cancel", "a user says so", time_);
  jobs().schedule(time_);
  EXPECT_THAT(told(), ElementsAre("kill 1"));
  EXPECT_EQ(free_cores(), 0);
  end(id, 0, 0, "killed");
  jobs().schedule(time_);
  EXPECT_THAT(told(), ElementsAre("CANCELED 1", "start " + std::to_string(next)));
  jobs().raise(JobId(id), "cancel", "again", time_);
  jobs().raise(JobId(99), "cancel", "nobody", time_);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(JobManagerTest, AJobThatWaitsIsCancelledAtOnce) {
  submit_running({.cores = 2, .tasks = 2});
  const auto id = submit({.count = 3});
  told();
  jobs().raise(JobId(id + 1), "cancel", "a user says so", time_);
  EXPECT_THAT(told(), ElementsAre("CANCELED 3"));
  EXPECT_EQ(jobs().counts().pending, 2);
}

// Tasks that count on others give up when those are gone, and the agent of those is heard later.
TEST_F(JobManagerTest, AJobThatGaveUpSincePartOfItWasTakenHasLostItsNode) {
  begin("node=2/core=2", {0, 1});
  const std::string again = R"({"requeue":1})";
  const auto lost = submit_running({.cores = 2, .tasks = 2, .wishes = again});
  ASSERT_EQ(life(lost).parts.size(), 2u);
  end(lost, 1, 1, "abort");
  EXPECT_EQ(life(lost).exception, "abort");
  end(lost, 0, 0, "lost");
  EXPECT_EQ(jobs().record(JobId(lost))->retries, 1u) << "as after any loss of a node";
  commit();
  crash();
  EXPECT_EQ(jobs().record(JobId(lost))->retries, 1u);
  jobs().raise(JobId(lost), "cancel", "a user says so", time_);
  const auto failed = submit_running({.cores = 2, .tasks = 2, .wishes = again});
  end(failed, 1, 1, "abort");
  end(failed, 0, 0, "killed");
  EXPECT_EQ(result(failed), "FAILED") << "all of it was there";
}

TEST_F(JobManagerTest, AnEndThatHasToWaitKeepsTheResources) {
  const auto id = submit_running({.cores = 2});
  told();
  life_->outside.may = false;
  end(id, 0);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(jobs().record(JobId(id))->state, "CLEANUP");
  life_->outside.may = true;
  jobs().go_on(JobId(id), time_);
  EXPECT_THAT(told(), ElementsAre("COMPLETED 1"));
  EXPECT_EQ(free_cores(), 4);
}

TEST_F(JobManagerTest, OfSeveralPartsTheJobIsOverWithTheLastAndFailsWithTheWorst) {
  begin("node=2/core=2", {0, 1});
  const auto id = submit_running({.cores = 2, .tasks = 2});
  ASSERT_EQ(life(id).parts.size(), 2u);
  told();
  end(id, 0, 1);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(free_cores(), 0);
  commit();
  crash();
  EXPECT_TRUE(part_of(life(id), 1)->finished);
  EXPECT_FALSE(part_of(life(id), 0)->finished);
  end(id, 3, 0);
  EXPECT_THAT(life_->outside.ranks_that_ran[JobId(id)], ElementsAre(0, 1));
  EXPECT_EQ(result(id), "FAILED");
  EXPECT_EQ(jobs().record(JobId(id))->exit_code, 3);
  EXPECT_EQ(free_cores(), 4);
}

TEST_F(JobManagerTest, APartThatIsLostEndsTheOthers) {
  begin("node=2/core=2", {0, 1});
  const auto id = submit_running({.cores = 2, .tasks = 2});
  told();
  end(id, 0, 1, "lost");
  EXPECT_THAT(told(), ElementsAre("kill 1"));
  EXPECT_EQ(free_cores(), 0) << "the other part runs";
  end(id, 0, 0, "killed");
  EXPECT_EQ(result(id), "FAILED");
  EXPECT_EQ(free_cores(), 4);
}

TEST_F(JobManagerTest, OneThatMayRunAgainDoesSoAfterPausesThatGrow) {
  const auto id = submit_running({.cores = 2, .wishes = R"({"requeue":2,"retry_on":"75"})"});
  told();
  end(id, 75);
  EXPECT_THAT(told(), ElementsAre("again 1"));
  EXPECT_THAT(life_->outside.ranks_that_ran[JobId(id)], ElementsAre(0));
  EXPECT_EQ(free_cores(), 4);
  EXPECT_THAT(jobs().record(JobId(id))->reason, HasSubstr("attempt 1 of 3 failed"));
  pass(999);
  EXPECT_THAT(told(), IsEmpty());
  commit();
  crash();
  pass(1);
  EXPECT_THAT(told(), ElementsAre("start 1"));
  start(id);
  end(id, 75);
  told();
  pass(1'999);
  EXPECT_THAT(told(), IsEmpty());
  pass(1);
  EXPECT_THAT(told(), ElementsAre("start 1"));
  EXPECT_EQ(life(id).retries, 2u);
  start(id);
  end(id, 75);
  EXPECT_THAT(told(), ElementsAre("FAILED 1")) << "three attempts were had";
}

TEST_F(JobManagerTest, NobodyRunsAgainWhoWasCancelledOrFailedInAnotherWay) {
  const std::string wish = R"({"requeue":5,"retry_on":"75"})";
  const auto other = submit_running({.wishes = wish});
  const auto cancelled = submit_running({.wishes = wish});
  const auto waits = submit_running({.wishes = wish});
  told();
  end(other, 74);
  EXPECT_THAT(told(), ElementsAre("FAILED 1"));
  jobs().raise(JobId(cancelled), "cancel", "a user says so", time_);
  end(cancelled, 75);
  EXPECT_THAT(told(), ElementsAre("kill 2", "CANCELED 2"));
  end(waits, 75);
  jobs().raise(JobId(waits), "cancel", "a user says so", time_);
  EXPECT_THAT(told(), ElementsAre("again 3", "CANCELED 3"));
}

TEST_F(JobManagerTest, ALostNodeIsReasonEnoughToRunAgain) {
  const auto id = submit_running({.wishes = R"({"requeue":1})"});
  told();
  end(id, 0, 0, "lost");
  EXPECT_THAT(told(), ElementsAre("again 1"));
  pass(1'000);
  start(id);
  end(id, 0);
  EXPECT_EQ(result(id), "COMPLETED");
  EXPECT_EQ(jobs().record(JobId(id))->retries, 1u);
}

// Of a root: it may be started again.
TEST_F(JobManagerTest, WhatFailsAsTheInstanceEndsWaitsForItsNextStart) {
  const auto lost = submit_running({.wishes = R"({"requeue":1})"});
  const auto failed = submit_running({.wishes = R"({"requeue":1,"retry_on":"75"})"});
  const auto ended = submit_running({.wishes = R"({"requeue":1,"retry_on":"75"})"});
  told();
  jobs().pause_scheduling(true);
  jobs().raise(JobId(lost), "node-failure", "its supervisor is gone", time_);
  jobs().raise(JobId(ended), "cancel", "the day is over", time_);
  end(lost, 0, 0, "killed");
  end(failed, 75);
  end(ended, 75);
  EXPECT_THAT(told(), ElementsAre("kill 1", "kill 3", "again 1", "again 2", "CANCELED 3"));
  pass(10'000);
  EXPECT_THAT(told(), IsEmpty()) << "nothing is started any more";
  commit();
  crash();
  pass(0);
  EXPECT_THAT(told(), ElementsAre("start 1", "start 2"));
}

TEST_F(JobManagerTest, WhosePlaceIsTakenRunsAgainAndKeepsItsAttempts) {
  preempt("requeue", 5'000);
  const auto id = submit_running(
      {.cores = 4,
       .wishes = R"({"preemptible":true,"checkpoint_signal":10,"requeue":1,"retry_on":"75"})"});
  told();
  const auto urgent = submit({.cores = 4, .queue = "urgent"});
  pass(0);
  EXPECT_THAT(told(), ElementsAre("preempted 1"));
  EXPECT_THAT(jobs().record(JobId(id))->reason, HasSubstr("job 2 takes its place"));
  EXPECT_THAT(jobs().record(JobId(urgent))->reason, HasSubstr("job 1 is preempted for it"));
  commit();
  crash();
  pass(4'999);
  EXPECT_THAT(told(), ::testing::Not(::testing::Contains("kill 1")));
  pass(1);
  EXPECT_THAT(told(), ElementsAre("kill 1"));
  end(id, 143, 0, "killed");
  pass(0);
  EXPECT_THAT(told(), ElementsAre("again 1", "start 2"));
  EXPECT_EQ(life(id).preemptions, 1u);
  EXPECT_EQ(life(id).preemption.by, 0u);
  start(urgent);
  end(urgent, 0);
  pass(0);
  told();
  start(id);
  end(id, 75);
  EXPECT_THAT(told(), ::testing::Not(::testing::Contains("FAILED 1")))
      << "the attempt it asked for is left";
  pass(1'000);
  start(id);
  end(id, 75);
  EXPECT_EQ(result(id), "FAILED");
  EXPECT_EQ(jobs().record(JobId(id))->retries, 2u);
  EXPECT_EQ(jobs().record(JobId(id))->preemptions, 1u);
}

TEST_F(JobManagerTest, WhosePlaceIsTakenIsCancelledOrComplete) {
  preempt("cancel", 5'000);
  const std::string wish = R"({"preemptible":true,"checkpoint_signal":10})";
  const auto fails = submit_running({.cores = 2, .wishes = wish});
  const auto done = submit_running({.cores = 2, .wishes = wish});
  submit({.cores = 4, .queue = "urgent"});
  pass(0);
  told();
  end(done, 0);
  end(fails, 1);
  EXPECT_EQ(result(done), "COMPLETED");
  EXPECT_EQ(result(fails), "CANCELED");
  EXPECT_EQ(life_->outside.reasons[fails], "job 3 takes its place");
  EXPECT_EQ(jobs().record(JobId(fails))->preemptions, 1u);
  EXPECT_EQ(jobs().record(JobId(done))->preemptions, 0u);
}

TEST_F(JobManagerTest, WithoutASignalItEndsAtOnceAndACancelStays) {
  preempt("requeue", 5'000);
  const auto first = submit_running({.cores = 4, .wishes = R"({"preemptible":true})"});
  told();
  submit({.cores = 4, .queue = "urgent"});
  pass(0);
  EXPECT_THAT(told(), ElementsAre("preempted 1", "kill 1"));
  jobs().raise(JobId(first), "cancel", "a user says so", time_);
  told();
  end(first, 143, 0, "killed");
  pass(0);
  EXPECT_THAT(told(), ElementsAre("CANCELED 1", "start 2"));
}

TEST_F(JobManagerTest, TheEndOfTheInstanceCutsLimitsAndIsTold) {
  const auto id = submit_running({.limit = 3'600});
  const Time end = time_ + 60'000;
  told();
  ASSERT_TRUE(life_->store.set_horizon({life_->store.options().horizon.begin, end}));
  jobs().lease_changed(kTimeMax, time_);
  EXPECT_THAT(told(), ElementsAre("limit 1"));
  EXPECT_EQ(life(id).expiration, end);
  resource::JobShape shape;
  shape.duration_seconds = 61;
  shape.command = {"/bin/true"};
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
  const auto refused = jobs().submit(ask, time_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
  EXPECT_EQ(jobs().record(JobId(2))->result, "REJECTED");
}

// Of a list, too; where hosts may still come, it waits for them.
TEST_F(JobManagerTest, AHostThatIsNotHereIsRefused) {
  const auto submitted = [&](const std::string& op, const std::string& hosts) {
    resource::JobShape shape;
    shape.constraints = {"hostlist", {hosts}, {}};
    if (op == "not") shape.constraints = {"not", {}, {shape.constraints}};
    shape.command = {"/bin/true"};
    msg::SubmitRequest ask;
    ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
    const auto answer = jobs().submit(ask, time_);
    return answer ? std::string() : answer.error().what;
  };
  EXPECT_EQ(submitted("", "node1,nodeX"), "no node of this instance is called nodeX");
  EXPECT_EQ(submitted("not", "node1,nodeX,nodeY"),
            "no node of this instance is called nodeX,nodeY");
  EXPECT_EQ(submitted("not", "node[0,5-6]"), "no node of this instance is called node[5-6]");
  EXPECT_EQ(submitted("", "node[0-1]"), "");
  jobs().grows = true;
  EXPECT_EQ(submitted("", "node1,nodeX"), "");
}

TEST_F(JobManagerTest, ASubmissionThatComesAgainIsTheSame) {
  msg::SubmitRequest ask;
  resource::JobShape shape;
  shape.command = {"/bin/true"};
  ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
  ask.count = 3;
  ask.key = "mine";
  const auto first = jobs().submit(ask, time_);
  ASSERT_TRUE(first);
  commit();
  crash();
  const auto again = jobs().submit(ask, time_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->first_id, first->first_id);
  EXPECT_EQ(again->count, 3u);
  EXPECT_EQ(jobs().active().size(), 3u);
  ask.count = 4;
  EXPECT_EQ(jobs().submit(ask, time_).error().code, Errc::exists);
}

// Whatever happened, and whenever a broker is lost: the one after it knows of each job what was
// committed, and the plan is what the jobs hold.
TEST_F(JobManagerTest, AnyHistoryIsRebuiltFromTheJournal) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    begin("node=2/core=3",
          seed % 2 == 0 ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{0, 1});
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    for (int step = 0; step < 80; ++step) {
      std::vector<std::uint64_t> ids;
      for (const auto& [id, job] : jobs().active()) ids.push_back(id.value());
      const auto some = ids.empty() ? 0 : ids[below(static_cast<unsigned>(ids.size()))];
      const auto rank =
          some == 0 || life(some).parts.empty()
              ? 0
              : life(some).parts[below(static_cast<unsigned>(life(some).parts.size()))].rank;
      switch (below(8)) {
        case 0:
        case 1:
          submit({.cores = 1 + below(3),
                  .tasks = 1 + below(2),
                  .limit = below(2) == 0 ? 0.0 : 60.0,
                  .wishes = below(2) == 0 ? "" : R"({"requeue":2,"retry_on":"1-2"})",
                  .count = 1 + below(3)});
          break;
        case 2:
          if (some != 0) start(some, rank);
          break;
        case 3:
        case 4:
          if (some != 0 && life(some).holds_resources)
            end(some, static_cast<int>(below(3)), rank, below(5) == 0 ? "lost" : "exit");
          break;
        case 5:
          if (some != 0) jobs().raise(JobId(some), "cancel", "a user says so", time_);
          break;
        case 6:
          static_cast<void>(some != 0 && jobs().set_urgency(JobId(some), below(32), time_));
          break;
        default:
          pass(below(3'000));
      }
      jobs().schedule(time_);
      ASSERT_TRUE(life_->journal.commit());
      if (below(6) != 0) continue;
      const auto active = jobs().active();
      const auto counts = jobs().counts();
      const auto was_free = free_cores();
      crash();
      ASSERT_EQ(jobs().active().size(), active.size());
      for (const auto& [id, job] : active) ASSERT_EQ(jobs().find(id)->life, job.life) << id.value();
      EXPECT_EQ(free_cores(), was_free);
      EXPECT_EQ(jobs().counts().inactive, counts.inactive);
      EXPECT_EQ(jobs().counts().failed, counts.failed);
    }
  }
}

}  // namespace
}  // namespace holon::instance
