// Several queues over one machine: gates, what stopping one does to the others, shared jobspecs.
#include <gtest/gtest.h>

#include "qmanager/engine/admit.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Scheduler;
using qmanager::SchedulerConfig;

SchedulerConfig two_queues(const std::string& policy_name) {
  SchedulerConfig config = policy(policy_name);
  config.queues["a"] = config.queues["b"] = config.defaults;
  config.default_queue = "a";
  return config;
}

std::vector<std::uint64_t> started(const qmanager::StepResult& step) {
  std::vector<std::uint64_t> ids;
  for (const auto& decision : step.decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision))
      ids.push_back(start->job.value());
  return ids;
}

using Ids = std::vector<std::uint64_t>;

// X and Y run until 10; A of queue a and B of queue b have the two nodes reserved then.
TEST(Queues, OneThatIsStoppedHoldsNobodyUp) {
  for (const char* name : {"conservative", "conservative-rebuild", "easy", "fcfs"}) {
    SCOPED_TRACE(name);
    Scheduler scheduler =
        *Scheduler::create(two_queues(name), std::make_unique<qmanager::FlatMachine>(2));
    const auto jobs = parse_jobs(R"(
        X   0      1     10    10  queue=b
        Y   0      1     10    10  queue=b
        A   1      1     5     5   queue=a
        B   1      1     5     5   queue=b)");
    ASSERT_TRUE(scheduler.submit(jobs[0].request, 0));
    ASSERT_TRUE(scheduler.submit(jobs[1].request, 0));
    EXPECT_EQ(started(scheduler.step(0)), (Ids{1, 2}));
    ASSERT_TRUE(scheduler.submit(jobs[2].request, 1));
    ASSERT_TRUE(scheduler.submit(jobs[3].request, 1));
    EXPECT_EQ(started(scheduler.step(1)), Ids{});
    ASSERT_TRUE(scheduler.start_queue("a", false));
    scheduler.check_invariants();
    scheduler.step(5);
    EXPECT_FALSE(scheduler.outlook(JobId{3})->planned_start);
    EXPECT_EQ(scheduler.outlook(JobId{3})->reason, "queue a is stopped");
    ASSERT_TRUE(scheduler.finish(JobId{1}, 10));
    ASSERT_TRUE(scheduler.finish(JobId{2}, 10));
    EXPECT_EQ(started(scheduler.step(10)), (Ids{4}));
    // What was reserved for A is free for others, too.
    auto wide = parse_jobs("C 11 1 50 50 queue=b").front().request;
    wide.id = JobId{5};
    ASSERT_TRUE(scheduler.submit(wide, 11));
    EXPECT_EQ(started(scheduler.step(11)), (Ids{5}));
    ASSERT_TRUE(scheduler.start_queue("a", true));
    ASSERT_TRUE(scheduler.finish(JobId{4}, 12));
    EXPECT_EQ(started(scheduler.step(12)), (Ids{3}));
    scheduler.check_invariants();
  }
}

qmanager::AdvanceRequest reservation(std::uint64_t id, Interval when, std::int64_t procs) {
  qmanager::AdvanceRequest request;
  request.resources.id = JobId{id};
  request.resources.user = "ann";
  request.resources.procs = procs;
  request.when = when;
  return request;
}

qmanager::JobRequest job_in(std::uint64_t reservation, std::uint64_t id, const char* queue) {
  auto job = parse_jobs("A 0 1 5 5 user=ann").front().request;
  job.id = JobId{id};
  job.advance = JobId{reservation};
  job.queue = queue;
  return job;
}

// Whether it was there when the queue was stopped, came after that, or came back with a restart.
TEST(Queues, OneThatIsStoppedStartsNobodyInAdvanceReservationsEither) {
  Scheduler scheduler =
      *Scheduler::create(two_queues("easy"), std::make_unique<qmanager::FlatMachine>(6));
  ASSERT_FALSE(scheduler.reserve_ahead(reservation(90, {0, 50}, 2), 0)->refused);
  ASSERT_TRUE(scheduler.start_queue("a", false));
  ASSERT_FALSE(scheduler.reserve_ahead(reservation(91, {0, 50}, 2), 0)->refused);
  ASSERT_TRUE(scheduler.recover_advance(reservation(92, {}, 1),
                                        {JobId{92}, {0, 50}, {{.uniq_id = 0, .amount = 1}}, {}}));
  for (const std::uint64_t id : {90, 91, 92})
    ASSERT_FALSE(scheduler.submit(job_in(id, id - 89, "a"), 0)->has_value());
  ASSERT_FALSE(scheduler.submit(job_in(90, 5, "b"), 0)->has_value());
  EXPECT_EQ(started(scheduler.step(0)), (Ids{5})) << "of queue b";
  EXPECT_EQ(scheduler.outlook(JobId{1})->reason, "queue a is stopped");
  EXPECT_EQ(scheduler.outlook(JobId{2})->reason, "queue a is stopped");
  scheduler.plan(1);
  EXPECT_EQ(scheduler.running(), 1u);
  ASSERT_TRUE(scheduler.start_queue("a", true));
  EXPECT_EQ(started(scheduler.step(2)), (Ids{1, 2, 3}));
  scheduler.check_invariants();
}

TEST(Queues, OneThatIsDisabledTakesNoJobsForAdvanceReservationsEither) {
  Scheduler scheduler =
      *Scheduler::create(two_queues("easy"), std::make_unique<qmanager::FlatMachine>(6));
  ASSERT_FALSE(scheduler.reserve_ahead(reservation(90, {0, 50}, 2), 0)->refused);
  ASSERT_TRUE(scheduler.enable_queue("a", false));
  ASSERT_FALSE(scheduler.reserve_ahead(reservation(91, {0, 50}, 2), 0)->refused);
  for (const std::uint64_t id : {90, 91}) {
    const auto denied = scheduler.submit(job_in(id, id - 89, "a"), 0);
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().code, Errc::denied);
    EXPECT_TRUE(scheduler.submit(job_in(id, id - 79, "b"), 0));
  }
  ASSERT_TRUE(scheduler.enable_queue("a", true));
  EXPECT_TRUE(scheduler.submit(job_in(90, 1, "a"), 0));
  EXPECT_EQ(scheduler.pending(), 3u);
}

TEST(Queues, ABoundOfNothingOnTheDepthIsRefused) {
  SchedulerConfig config = policy("easy");
  config.defaults.max_queue_depth = 0;
  const auto scheduler = Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  ASSERT_FALSE(scheduler);
  EXPECT_EQ(scheduler.error().where, "queues.default.max-queue-depth");
}

// The jobs of an array have one jobspec, before and after their queue has narrowed it.
TEST(Queues, JobsOfAnArrayShareWhatTheirQueueMakesOfTheirJobspec) {
  Scheduler::State state(std::make_shared<const SchedulerConfig>());
  qmanager::Queue queue;
  queue.name = "fast";
  queue.config.properties = {"fast"};
  resource::JobShape shape;
  shape.command = {"true"};
  const auto spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  qmanager::JobRequest first, second, other;
  first.spec = second.spec = spec;
  other.spec = std::make_shared<const resource::Jobspec>(*spec);
  for (auto* job : {&first, &second, &other}) ASSERT_TRUE(qmanager::admit(state, *job, queue));
  EXPECT_EQ(first.spec, second.spec);
  EXPECT_NE(first.spec, other.spec);
  EXPECT_EQ(first.spec->constraints.values, (std::vector<std::string>{"fast"}));
  EXPECT_TRUE(spec->constraints.op.empty());
  queue.name = "slow";
  queue.config.properties = {"slow"};
  qmanager::JobRequest elsewhere;
  elsewhere.spec = other.spec;
  ASSERT_TRUE(qmanager::admit(state, elsewhere, queue));
  EXPECT_EQ(elsewhere.spec->constraints.op, "and");
}

}  // namespace
}  // namespace holon::tests
