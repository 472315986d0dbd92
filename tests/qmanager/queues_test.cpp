// Several queues over one machine: gates, what stopping one does to the others, shared jobspecs.
#include <gtest/gtest.h>

#include "qmanager/admit.hpp"
#include "qmanager/flat_machine.hpp"
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

// X and Y run until 10; A of queue a and B of queue b are promised the two nodes then.
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
    // What was promised to A is free for others, too.
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

TEST(Queues, ABoundOfNothingOnTheDepthIsRefused) {
  SchedulerConfig config = policy("easy");
  config.defaults.max_queue_depth = 0;
  const auto scheduler = Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  ASSERT_FALSE(scheduler);
  EXPECT_EQ(scheduler.error().where, "queues.default.max-queue-depth");
}

// The jobs of an array have one jobspec, before and after their queue has narrowed it.
TEST(Queues, JobsOfAnArrayShareWhatTheirQueueMakesOfTheirJobspec) {
  Scheduler::State state;
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
