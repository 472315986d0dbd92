// Who gets a reservation, when, and for how long: Maui's RESERVATIONPOLICY, RESERVATIONTHRESHOLD,
// BACKFILLPOLICY NONE; and what backfill maximises over a graph.
#include <gtest/gtest.h>

#include <functional>

#include "qmanager/machine/flat_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::BackfillMetric;
using qmanager::BackfillOrder;
using qmanager::QueueConfig;
using qmanager::ReservationPolicy;
using qmanager::Scheduler;
using Threshold = qmanager::ReservationThreshold::Type;

struct ReservationCase {
  const char* name;
  std::function<void(QueueConfig&)> set;
  int nodes;
  const char* jobs;
  const char* want;
};

const char* const kOvertaken = R"(
        # C comes later, with a higher priority than B, which has the one reservation; D would run into it
        A   0      1     4     4
        B   0      2     2     2
        C   1      2     2     2   urgency=20
        D   1      1     4     4)";

const char* const kBlocked = R"(
        # B is blocked from 0 on; D, at 5, would run into a reservation of B at 6
        A   0      1     5     5
        B   0      2     2     2
        C   0      1     6     6
        D   4      1     3     3)";

const char* const kStream = R"(
        # C and D start before B; E would be the third
        A   0      1     4     4
        B   0      2     2     2
        C   0      1     2     2
        D   0      1     9     9
        E   0      1     9     9
        F   0      1     7     7)";

const ReservationCase kReservationCases[] = {
    {"CURRENTHIGHEST: who is overtaken loses its reservation", [](QueueConfig&) {}, 2, kOvertaken,
     R"(
      n0 |AAAACCBBDDDD|
      n1 |....CCBB....|
)"},
    {"HIGHEST: once reserved, kept until it runs, though C has one as well at depth 1",
     [](QueueConfig& q) { q.reservation_policy = ReservationPolicy::highest; }, 2, kOvertaken, R"(
      n0 |AAAABBCCDDDD|
      n1 |....BBCC....|
)"},
    {"NEVER: no reservation, so that D starts in front of both",
     [](QueueConfig& q) { q.reservation_policy = ReservationPolicy::never; }, 2, kOvertaken, R"(
      n0 |AAAA.CCBB|
      n1 |.DDDDCCBB|
)"},
    {"NEVER holds for buckets, too",
     [](QueueConfig& q) {
       q.reservation_policy = ReservationPolicy::never;
       q.buckets[0] = {.depth = 3, .qos = {}};
     },
     2, kOvertaken, R"(
      n0 |AAAA.CCBB|
      n1 |.DDDDCCBB|
)"},
    {"threshold QUEUETIME 3: after more than 3 of waiting B is protected, and D waits",
     [](QueueConfig& q) {
       q.threshold = {Threshold::queue_time, 3};
     },
     2, kBlocked, R"(
      n0 |AAAAA.BBDDD|
      n1 |CCCCCCBB...|
)"},
    {"threshold QUEUETIME 9: B is not yet protected, and D passes",
     [](QueueConfig& q) {
       q.threshold = {Threshold::queue_time, 9};
     },
     2, kBlocked, R"(
      n0 |AAAAADDDBB|
      n1 |CCCCCC..BB|
)"},
    {"threshold XFACTOR 2.5: (3 + 2) / 2 has to be passed",
     [](QueueConfig& q) {
       q.threshold = {Threshold::xfactor, 2.5};
     },
     2, kBlocked, R"(
      n0 |AAAAA.BBDDD|
      n1 |CCCCCCBB...|
)"},
    {"threshold XFACTOR 4: not before D comes",
     [](QueueConfig& q) {
       q.threshold = {Threshold::xfactor, 4};
     },
     2, kBlocked, R"(
      n0 |AAAAADDDBB|
      n1 |CCCCCC..BB|
)"},
    {"threshold BYPASS 1: passed by two jobs B is protected, so that F fits and E does not",
     [](QueueConfig& q) {
       q.threshold = {Threshold::bypass, 1};
     },
     2, kStream, R"(
      n0 |AAAAFFFFFFFBBEEEEEEEEE|
      n1 |CCDDDDDDDDDBB.........|
)"},
    {"threshold BYPASS 2: E passes as the third",
     [](QueueConfig& q) {
       q.threshold = {Threshold::bypass, 2};
     },
     2, kStream, R"(
      n0 |AAAAEEEEEEEEEBBFFFFFFF|
      n1 |CCDDDDDDDDD..BB.......|
)"},
    {"BACKFILLPOLICY NONE: nothing passes the head, and buckets reserve nothing",
     [](QueueConfig& q) {
       q.backfill = BackfillOrder::none;
       q.buckets[0] = {.depth = 3, .qos = {}};
     },
     2, kBlocked, R"(
      n0 |AAAAABBCCCCCC|
      n1 |.....BBDDD...|
)"},
    {"GREEDY with BACKFILLMAXSCHEDULES 1 takes the first set it tries",
     [](QueueConfig& q) {
       q.backfill = BackfillOrder::greedy;
       q.backfill_max_schedules = 1;
     },
     5, R"(
        A   0      1     4     4
        B   0      5     1     1
        X   0      5     1     1
        C   0      3     4     4
        D   0      2     4     4
        E   0      2     4     4)",
     R"(
      n0 |AAAABXDDDD|
      n1 |CCCCBXDDDD|
      n2 |CCCCBXEEEE|
      n3 |CCCCBXEEEE|
      n4 |....BX....|
)"},
};

TEST(ReservationPolicy, Drawings) {
  for (const ReservationCase& c : kReservationCases) {
    SCOPED_TRACE(c.name);
    auto config = policy("easy");
    config.priority.ticks_per_second = 1;
    c.set(config.defaults);
    EXPECT_EQ(gantt(run({.nodes = c.nodes, .jobs = parse_jobs(c.jobs), .config = config})), c.want);
  }
}

TEST(ReservationPolicy, NoneHasNothingPlanned) {
  auto config = policy("hybrid:3");
  config.defaults.backfill = BackfillOrder::none;
  config.defaults.buckets[0] = {.depth = 3, .qos = {}};
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(2));
  for (const auto& job : parse_jobs(kStream)) ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  for (const auto& span : scheduler.plan(0)) EXPECT_FALSE(span.reserved) << span.job.value();
}

// More reservations than depth, each where it was first planned or earlier, whatever comes.
TEST(ReservationPolicy, HighestKeepsEveryReservationOnceMade) {
  std::size_t most = 0;
  for (const int depth : {1, 2})
    for (unsigned seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      auto jobs = random_jobs(seed, 24, 5);
      for (std::size_t i = 0; i < jobs.size(); ++i)
        jobs[i].request.urgency = static_cast<std::uint32_t>(8 + (i * 7 + seed) % 16);
      auto config = policy("hybrid:" + std::to_string(depth));
      config.defaults.reservation_policy = ReservationPolicy::highest;
      const Outcome outcome = run({.nodes = 5, .jobs = jobs, .config = config});
      ASSERT_NO_FATAL_FAILURE(expect_nothing_held_twice(outcome));
      for (std::size_t i = 0; i < jobs.size(); ++i)
        ASSERT_LE(outcome.start(i), outcome.result.jobs[i].first_planned.value_or(kTimeMax))
            << "job " << i + 1;
    }
  auto config = policy("easy");
  config.defaults.reservation_policy = ReservationPolicy::highest;
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(2));
  for (const auto& job : parse_jobs(kOvertaken)) {
    ASSERT_TRUE(scheduler.submit(job.request, job.request.submitted));
    scheduler.step(job.request.submitted);
    most = std::max(most, scheduler.queues().front().reserved);
  }
  EXPECT_EQ(most, 2u);
}

// Nothing ended: what was reserved for the cancelled job is given to those behind it all the same.
TEST(ReservationPolicy, KeptReservationsMoveUpWhenOneInFrontIsCancelled) {
  auto scheduler =
      *Scheduler::create(policy("conservative"), std::make_unique<qmanager::FlatMachine>(2));
  for (const auto& job : parse_jobs(R"(
        A   0      2     10    10
        B   0      2     10    10
        C   0      2     10    10)"))
    ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  EXPECT_EQ(scheduler.outlook(JobId{3})->planned_start, 20);
  ASSERT_TRUE(scheduler.cancel(JobId{2}, 1));
  scheduler.step(1);
  EXPECT_EQ(scheduler.outlook(JobId{3})->planned_start, 10);
}

// ---- over a graph ----

struct Ask {
  std::int64_t cores = 1;
  std::int64_t memory = 0;
  std::int64_t nodes = 0;
};

qmanager::JobRequest request(std::uint64_t id, Ask ask, Duration limit, std::string qos = {}) {
  resource::JobShape shape;
  shape.cores_per_task = ask.cores;
  shape.memory_per_task = ask.memory;
  shape.nodes = ask.nodes;
  shape.command = {"true"};
  qmanager::JobRequest job;
  job.id = JobId{id};
  job.qos = std::move(qos);
  job.limit = limit;
  job.spec = std::make_shared<resource::Jobspec>(*resource::jobspec_for(shape));
  return job;
}

std::vector<std::uint64_t> was_started(const qmanager::StepResult& step) {
  std::vector<std::uint64_t> ids;
  for (const auto& decision : step.decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision))
      ids.push_back(start->job.value());
  return ids;
}

// 3 of 8 cores are free: job 4 asks for them; job 5 for one, and for 40 of 64 units of memory,
// which is worth 5 processors.
TEST(BackfillMetric, ProcessorEquivalentsCountMemory) {
  const std::pair<BackfillMetric, std::uint64_t> cases[] = {
      {BackfillMetric::procs, 4},
      {BackfillMetric::proc_seconds, 4},
      {BackfillMetric::equivalents, 5},
      {BackfillMetric::equivalent_seconds, 5}};
  for (const auto& [metric, first] : cases) {
    auto store =
        *resource::ResourceStore::load(*resource::read_shape("node=1/core=8,memory=64"), {});
    auto config = policy("easy");
    config.defaults.backfill = BackfillOrder::best_fit;
    config.defaults.backfill_metric = metric;
    auto scheduler = *Scheduler::create(config, store);
    ASSERT_TRUE(scheduler.submit(request(1, {5}, 100), 0));
    ASSERT_TRUE(scheduler.submit(request(2, {8}, 10), 0));
    ASSERT_TRUE(scheduler.submit(request(3, {8}, 10), 0));
    ASSERT_TRUE(scheduler.submit(request(4, {3}, 10), 0));
    ASSERT_TRUE(scheduler.submit(request(5, {1, 40}, 10), 0));
    EXPECT_EQ(was_started(scheduler.step(0)), (std::vector<std::uint64_t>{1, first}));
  }
}

TEST(QosFlags, DedicatedJobsHaveTheirNodesForThemselves) {
  for (const bool dedicated : {false, true}) {
    auto store = *resource::ResourceStore::load(*resource::read_shape("node=1/core=4"), {});
    auto config = policy("easy");
    ASSERT_TRUE(config.qos["hi"].set_flags(dedicated ? "DEDICATED" : "NOBF"));
    auto scheduler = *Scheduler::create(config, store);
    const Ask one_of_a_node{.cores = 1, .memory = 0, .nodes = 1};
    ASSERT_FALSE(scheduler.submit(request(1, one_of_a_node, 10, "hi"), 0)->has_value());
    ASSERT_FALSE(scheduler.submit(request(2, {1}, 10), 0)->has_value());
    EXPECT_EQ(was_started(scheduler.step(0)).size(), dedicated ? 1u : 2u);
    const auto anywhere = scheduler.submit(request(3, {1}, 10, "hi"), 0);
    ASSERT_TRUE(anywhere);
    EXPECT_EQ(anywhere->has_value() ? (*anywhere)->reason : "",
              dedicated ? "jobs of QOS hi get whole nodes: it is to say how many (-N)" : "");
  }
}

}  // namespace
}  // namespace holon::tests
