// Questions that come after time has gone on and before the next pass has seen it: nobody is
// started, and nothing is granted, on what somebody still holds.
#include <gtest/gtest.h>

#include <functional>

#include "qmanager/engine/pass/overruns.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Scheduler;

struct Question {
  const char* name;
  std::function<void(Scheduler&, Time)> ask;
};

const Question kQuestions[] = {
    {"plan", [](Scheduler& s, Time now) { s.plan(now); }},
    {"windows", [](Scheduler& s, Time now) { s.windows(now); }},
    {"explain", [](Scheduler& s, Time now) { static_cast<void>(s.explain(JobId{2}, now)); }},
};

const char* const kPolicies[] = {"fcfs", "easy", "conservative", "conservative-rebuild"};

qmanager::AdvanceRequest reservation_of(Interval when, std::int64_t procs) {
  qmanager::AdvanceRequest request;
  request.resources.id = JobId{90};
  request.resources.user = "ann";
  request.resources.procs = procs;
  request.when = when;
  return request;
}

TEST(Questions, QueuesAreCountedAsTheirJobsStand) {
  auto scheduler = *Scheduler::create(policy("easy"), std::make_unique<qmanager::FlatMachine>(2));
  auto jobs = parse_jobs("A 0 2 10 10\nB 0 1 5 5\nC 0 1 5 5\nD 0 2 5 5");
  jobs[1].request.urgency = jobs[2].request.urgency = qmanager::kUrgencyHold;
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
  const auto counts = [&] {
    scheduler.check_invariants();
    const auto queue = scheduler.queues().at(0);
    return std::vector{queue.pending, queue.held, queue.running};
  };
  EXPECT_EQ(counts(), (std::vector<std::size_t>{2, 2, 0}));
  scheduler.step(0);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 2, 1}));
  ASSERT_TRUE(scheduler.set_urgency(JobId{2}, 16));
  EXPECT_EQ(counts()[1], 1u);
  ASSERT_TRUE(scheduler.set_urgency(JobId{2}, qmanager::kUrgencyHold));
  EXPECT_EQ(counts()[1], 2u);
  ASSERT_TRUE(scheduler.cancel(JobId{3}, 1));
  ASSERT_TRUE(scheduler.finish(JobId{1}, 10));
  scheduler.step(10);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{0, 1, 1}));
}

TEST(Questions, StartNobodyOnUnitsOfAJobThatOverran) {
  for (const char* name : kPolicies)
    for (const Question& question : kQuestions) {
      SCOPED_TRACE(std::string(name) + ", " + question.name);
      auto scheduler = *Scheduler::create(policy(name), std::make_unique<qmanager::FlatMachine>(2));
      const auto jobs = parse_jobs("A 0 2 10 15\nB 12 1 5 5");
      ASSERT_TRUE(scheduler.submit(jobs[0].request, 0));
      scheduler.step(0);
      ASSERT_TRUE(scheduler.submit(jobs[1].request, 12));
      question.ask(scheduler, 12);
      EXPECT_EQ(scheduler.running(), 1u);
      scheduler.check_invariants();
      scheduler.step(12);
      EXPECT_EQ(scheduler.running(), 1u);
      ASSERT_TRUE(scheduler.finish(JobId{1}, 15));
      scheduler.step(15);
      EXPECT_EQ(scheduler.running(), 1u) << "B, at once";
      scheduler.check_invariants();
    }
}

TEST(Questions, StartNobodyInAReservationOnUnitsOfAJobThatOverranIntoIt) {
  for (const char* name : kPolicies)
    for (const Question& question : kQuestions) {
      SCOPED_TRACE(std::string(name) + ", " + question.name);
      auto scheduler = *Scheduler::create(policy(name), std::make_unique<qmanager::FlatMachine>(2));
      ASSERT_FALSE(scheduler.reserve_ahead(reservation_of({5, 20}, 2), 0)->refused);
      auto jobs = parse_jobs("A 0 2 5 9\nB 0 1 5 5 user=ann");
      jobs[1].request.advance = JobId{90};
      for (const auto& job : jobs) ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
      scheduler.step(0);
      question.ask(scheduler, 7);
      EXPECT_EQ(scheduler.running(), 1u);
      scheduler.check_invariants();
      scheduler.step(7);
      EXPECT_EQ(scheduler.running(), 1u);
      ASSERT_TRUE(scheduler.finish(JobId{1}, 9));
      scheduler.step(9);
      EXPECT_EQ(scheduler.running(), 1u) << "B, at once";
      scheduler.check_invariants();
    }
}

TEST(Questions, AReservationIsNotGrantedOnUnitsOfAJobThatOverran) {
  for (const char* name : kPolicies) {
    SCOPED_TRACE(name);
    auto scheduler = *Scheduler::create(policy(name), std::make_unique<qmanager::FlatMachine>(2));
    ASSERT_TRUE(scheduler.submit(parse_jobs("A 0 2 10 15").front().request, 0));
    scheduler.step(0);
    EXPECT_TRUE(scheduler.reserve_ahead(reservation_of({12, 20}, 1), 12)->refused);
    scheduler.check_invariants();
    ASSERT_TRUE(scheduler.finish(JobId{1}, 15));
    EXPECT_FALSE(scheduler.reserve_ahead(reservation_of({15, 20}, 1), 15)->refused);
    scheduler.step(15);
    scheduler.check_invariants();
  }
}

// A overruns, so that all is planned again; but C has reserved what is asked for.
TEST(Questions, AReservationDoesNotTakeThePlaceOfAnother) {
  auto scheduler =
      *Scheduler::create(policy("conservative"), std::make_unique<qmanager::FlatMachine>(2));
  for (const auto& job : parse_jobs("A 0 1 10 15\nD 0 1 30 30\nC 0 2 10 10"))
    ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
  scheduler.step(0);
  ASSERT_EQ(scheduler.outlook(JobId{3})->planned_start, 30);
  EXPECT_TRUE(scheduler.reserve_ahead(reservation_of({30, 40}, 2), 12)->refused);
  scheduler.step(12);
  EXPECT_EQ(scheduler.outlook(JobId{3})->planned_start, 30);
  scheduler.check_invariants();
}

// Its jobs can still be cancelled until they have been sent away.
TEST(Questions, CloseNoReservation) {
  auto scheduler = *Scheduler::create(policy("easy"), std::make_unique<qmanager::FlatMachine>(2));
  ASSERT_FALSE(scheduler.reserve_ahead(reservation_of({5, 20}, 1), 0)->refused);
  auto jobs = parse_jobs("A 0 1 15 20 user=ann\nB 0 1 5 5 user=ann\nC 0 1 5 5 user=ann");
  for (auto& job : jobs) job.request.advance = JobId{90};
  for (const auto& job : jobs) ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
  scheduler.step(0);
  scheduler.step(5);
  ASSERT_EQ(scheduler.running(), 1u);
  for (const Question& question : kQuestions) question.ask(scheduler, 21);
  EXPECT_EQ(scheduler.running(), 1u);
  EXPECT_EQ(scheduler.pending(), 2u);
  EXPECT_TRUE(scheduler.cancel(JobId{3}, 21));
  const auto step = scheduler.step(21);
  ASSERT_EQ(step.decisions.size(), 1u);
  EXPECT_EQ(std::get<qmanager::Reject>(step.decisions[0]).job, JobId{2});
  scheduler.check_invariants();
}

// Four processors, three in use, and one that wants all four waits: who comes now starts only where
// others may be overtaken.
TEST(Questions, WindowsAreThoseThatTheQueueWouldUse) {
  for (const char* name : kPolicies) {
    SCOPED_TRACE(name);
    auto scheduler = *Scheduler::create(policy(name), std::make_unique<qmanager::FlatMachine>(4));
    const auto jobs = parse_jobs("A 0 3 10 10\nB 0 4 10 10\nC 0 1 10 10");
    ASSERT_TRUE(scheduler.submit(jobs[0].request, 0));
    scheduler.step(0);
    EXPECT_EQ(scheduler.windows(0), (std::vector<qmanager::Window>{{1, kTimeMax}}));
    ASSERT_TRUE(scheduler.submit(jobs[1].request, 0));
    scheduler.step(0);
    const auto windows = scheduler.windows(0);
    ASSERT_TRUE(scheduler.submit(jobs[2].request, 0));
    scheduler.step(0);
    EXPECT_EQ(windows.empty(), scheduler.running() == 1u) << "what was said of C is what happened";
    EXPECT_EQ(windows.empty(), std::string(name) == "fcfs");
  }
}

TEST(Questions, QueuesThatWouldStartNothingSayWhy) {
  qmanager::SchedulerConfig config = policy("easy");
  for (const char* name : {"default", "fcfs", "shallow", "stopped"})
    config.queues[name] = config.defaults;
  config.queues["fcfs"].policy = "fcfs";
  config.queues["shallow"].queue_depth = 1;
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  ASSERT_TRUE(scheduler.start_queue("stopped", false));
  for (const auto& job :
       parse_jobs("A 0 3 10 10\nB 0 4 10 10 queue=fcfs\nC 0 4 10 10 queue=shallow"))
    ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  EXPECT_FALSE(scheduler.windows(0).empty()) << "a job in the default queue would start";
  std::string said;
  for (const auto& [name, reason] : scheduler.closed_queues(0)) said += name + ": " + reason + "\n";
  EXPECT_EQ(said,
            "fcfs: first come, first served: job 2 waits\n"
            "shallow: only the first waiting job is tried (queue.depth = 1)\n"
            "stopped: it is stopped\n");
  ASSERT_TRUE(scheduler.start_queue("default", false));
  scheduler.step(0);
  EXPECT_TRUE(scheduler.windows(0).empty());
}

// C has room, and is not looked at: neither a shorter limit nor fewer nodes would let it start.
TEST(Questions, NothingIsPromisedThatTheSchedulerWasNotAsked) {
  for (const char* depth : {"1", "3"}) {
    qmanager::SchedulerConfig config = policy("easy");
    config.defaults.queue_depth = *depth - '0';
    auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(8));
    for (auto& job : parse_jobs("A 0 3 10 10\nB 0 8 10 10\nC 0 2 20 20\nD 0 1 30 30")) {
      if (job.name == 'D') job.request.limit = 0;  // as long as it likes
      ASSERT_TRUE(scheduler.submit(job.request, 0));
    }
    while (scheduler.step(0).more) {
    }
    std::string said;
    const auto explanation = scheduler.explain(JobId{4}, 0);
    ASSERT_TRUE(explanation);
    for (const auto& change : explanation->changes) said += change.text + "\n";
    EXPECT_EQ(said.find("limit") == std::string::npos, *depth == '1') << said;
  }
}

TEST(Questions, WhoIsLateNearTheEndOfTimeStaysWithinIt) {
  EXPECT_EQ(qmanager::stretched_end(0, 160), 170);
  EXPECT_EQ(qmanager::stretched_end(100, 100), 101);
  EXPECT_EQ(qmanager::stretched_end(0, kTimeMax - 1), kTimeMax);
  EXPECT_EQ(qmanager::stretched_end(kTimeMax - 1, kTimeMax), kTimeMax);
}

}  // namespace
}  // namespace holon::tests
