// Every walk over time ends: also where a span has no end, and where nothing will ever happen.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/machine/pool_machine.hpp"
#include "qmanager/site/fairshare.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::BackfillOrder;
using qmanager::FlatMachine;
using qmanager::Scheduler;
using qmanager::SchedulerConfig;
using qmanager::Window;

Scheduler on(std::int64_t procs, const SchedulerConfig& config, const std::string& jobs,
             Interval horizon = {0, kTimeMax}) {
  auto scheduler = *Scheduler::create(config, std::make_unique<FlatMachine>(procs, horizon));
  for (const auto& job : parse_jobs(jobs)) {
    const auto refused = scheduler.submit(job.request, 0);
    EXPECT_TRUE(refused && !*refused) << job.name;
  }
  return scheduler;
}

TEST(Walks, WindowsBesideAJobWithoutALimit) {
  auto scheduler = on(4, policy("easy"), "A 0 1 0 30");
  scheduler.step(0);
  EXPECT_EQ(scheduler.windows(0), (std::vector<Window>{{3, kTimeMax}}));
  EXPECT_EQ(scheduler.windows(1'000'000), (std::vector<Window>{{3, kTimeMax}}));
}

TEST(Walks, WindowsEndWithTheLease) {
  auto scheduler = on(4, policy("easy"), "A 0 1 0 30\nB 0 1 10 10\nC 0 4 20 20", {0, 100});
  scheduler.step(0);
  EXPECT_EQ(scheduler.windows(0), (std::vector<Window>{{2, 100}}));
}

TEST(Walks, AWindowBeforeAReservationWithoutAnEnd) {
  auto scheduler = on(4, policy("easy"), "A 0 2 10 10\nB 0 3 0 30");
  scheduler.step(0);
  EXPECT_EQ(scheduler.windows(0), (std::vector<Window>{{2, 10}, {1, kTimeMax}}));
}

// Jobs that wait for a licence count against the depth of the queue apart from those that ask for
// none, or for another one.
constexpr const char* kLicenceIsTaken = R"(
    A  0  1  10  10  uses=l:1
    B  0  1  10  10  uses=l:1
    C  0  1  10  10  uses=l:1
    D  0  1  10  10  uses=l:1
    E  0  1  3   3
    F  0  1  3   3   uses=m:1)";

SchedulerConfig two_licences(const char* name) {
  SchedulerConfig config = policy(name);
  config.pools = {{"l", 1}, {"m", 1}};
  config.defaults.queue_depth = 2;
  return config;
}

TEST(Walks, ThoseThatWaitForALicenceKeepNobodyOutWhoNeedsNone) {
  for (const char* name : {"easy", "hybrid:2", "conservative", "conservative-rebuild"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(
        gantt(run({.nodes = 4, .jobs = parse_jobs(kLicenceIsTaken), .config = two_licences(name)})),
        R"(
      n0 |AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDD|
      n1 |EEE.....................................|
      n2 |FFF.....................................|
      n3 |........................................|
)");
  }
}

TEST(Walks, AJobBeyondTheDepthIsToldWithWhomItIsCounted) {
  auto scheduler = on(4, two_licences("easy"), kLicenceIsTaken);
  scheduler.step(0);
  EXPECT_EQ(scheduler.running(), 3u);
  EXPECT_EQ(
      scheduler.outlook(JobId{4})->reason,
      "behind the first 2 in line that ask for l, and only these are tried (queue.depth = 2)");
  EXPECT_EQ(name_of(scheduler.outlook(JobId{4})->kind), "depth");
  EXPECT_EQ(scheduler.queues().front().considered, 2);
}

// D is left to a window; the walk has gone on behind E, which the depth keeps out. With the start
// of D there is room for E.
TEST(Walks, AWindowLetsInWhomTheDepthKeptOutInFrontOfOthers) {
  for (const bool shortcuts : {true, false}) {
    SchedulerConfig config = two_licences("easy");
    config.shortcuts = shortcuts;
    config.pools["l"] = 4;
    config.defaults.backfill = BackfillOrder::first_fit;
    auto scheduler = on(4, config, R"(
        A  0  1  10  10
        H  0  4  10  10
        C  0  4  20  20  uses=l:1
        D  0  1  5   5   uses=l:1
        E  0  1  5   5   uses=l:1
        F  0  4  5   5)");
    while (scheduler.step(0).more) {
    }
    EXPECT_EQ(scheduler.running(), 3u) << "A, D and E";
    scheduler.check_invariants();
  }
}

// As it was met: 3 of 16 run without a limit, 12 as well, 12 more wait, and a pass never ended.
TEST(Walks, APassFillsWindowsBesideJobsWithoutLimits) {
  for (const BackfillOrder order :
       {BackfillOrder::first_fit, BackfillOrder::best_fit, BackfillOrder::greedy}) {
    SchedulerConfig config = policy("easy");
    config.defaults.backfill = order;
    auto scheduler =
        on(16, config, "A 0 3 0 9\nB 0 12 0 9\nC 0 12 60 9\nD 0 12 60 9\nE 0 1 0 9\nF 0 1 5 5");
    scheduler.step(0);
    EXPECT_EQ(scheduler.running(), 3u) << "A, B and E: nothing else is free";
    scheduler.check_invariants();
  }
}

// Without a limit it lasts as long as the lease, and fits where that is how long the window is.
TEST(Walks, AJobWithoutALimitIsBackfilledUntilTheEndOfTheLease) {
  SchedulerConfig config = policy("easy");
  config.defaults.backfill = BackfillOrder::first_fit;
  auto scheduler = on(4, config, "A 0 2 50 50\nB 0 3 50 50\nC 0 3 50 50\nD 0 1 0 30", {0, 100});
  scheduler.step(0);
  EXPECT_EQ(scheduler.running(), 2u) << "A and D";
}

TEST(Walks, RandomJobsSomeWithoutLimits) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (const BackfillOrder order : {BackfillOrder::queue_order, BackfillOrder::first_fit,
                                      BackfillOrder::best_fit, BackfillOrder::greedy})
      for (unsigned seed = 0; seed < 15; ++seed) {
        SCOPED_TRACE(fmt::format("{}, order {}, seed {}", name, static_cast<int>(order), seed));
        auto jobs = random_jobs(seed, 24, 6);
        for (std::size_t i = seed % 3; i < jobs.size(); i += 3)
          jobs[i].trace.limit = jobs[i].request.limit = 0;
        SchedulerConfig config = policy(name);
        config.defaults.backfill = order;
        const Outcome outcome = run({.nodes = 6, .jobs = jobs, .config = config});
        ASSERT_NO_FATAL_FAILURE(expect_nothing_held_twice(outcome));
        for (std::size_t i = 0; i < jobs.size(); ++i) ASSERT_TRUE(outcome.result.jobs[i].start);
      }
}

// A limit keeps A back for ever. With any weight, priorities were computed anew for ever as well.
TEST(Walks, ASimulationEndsThoughPrioritiesAge) {
  for (const char* weight : {"queuetime-weight", "xfactor-weight", "fsuser-weight"}) {
    SchedulerConfig config = policy("easy");
    ASSERT_TRUE(config.priority.set(weight, "1"));
    config.priority.ticks_per_second = 1;
    config.priority.interval = 10;
    limit(config, "user", "ann", "max-proc", "4");
    limit(config, "user", "default", "max-ijob", "1");
    const Outcome outcome = run({.nodes = 8,
                                 .jobs = parse_jobs("A 0 6 100 100 user=ann\nB 0 3 10 10 user=bob"),
                                 .config = config});
    EXPECT_FALSE(outcome.result.jobs[0].start) << weight;
    EXPECT_EQ(outcome.result.jobs[1].start, 0);
    EXPECT_LT(outcome.result.passes, 20);
  }
}

// A is kept back for ever, and B by the one job of a user that is considered, which is A, until B's
// expansion factor is the larger one: A, submitted at 0, has 1 + t/1000, B, at 500, 1 + (t-500)/10.
TEST(Walks, ASimulationGoesOnToWhereAgingLetsAJobIn) {
  SchedulerConfig config = policy("easy");
  ASSERT_TRUE(config.priority.set("xfactor-weight", "1000"));
  config.priority.ticks_per_second = 1;
  config.priority.interval = 1;
  config.priority.accrual = qmanager::Accrual::always;
  limit(config, "user", "ann", "max-proc", "4");
  limit(config, "user", "ann", "max-ijob", "1");
  const Outcome outcome =
      run({.nodes = 8,
           .jobs = parse_jobs("A 0 6 1000 100 user=ann\nB 500 3 10 10 user=ann"),
           .config = config});
  EXPECT_FALSE(outcome.result.jobs[0].start);
  EXPECT_EQ(outcome.result.jobs[1].start, 506);
  EXPECT_LT(outcome.result.passes, 530) << "each second up to 500, when B comes, and few after it";
}

TEST(Walks, TheLastWindowOfFairshareEndsWithTime) {
  qmanager::FairshareConfig config;
  config.interval = 10;
  qmanager::Fairshare fairshare(config);
  qmanager::JobRequest job;
  job.user = "ann";
  fairshare.started(job, 2, kTimeMax - 25);
  fairshare.advance(kTimeMax);
  EXPECT_GT(fairshare.usage(qmanager::Credential::user, "ann"), 99);
  fairshare.charge(job, 1, {kTimeMax - 3, kTimeMax});
  EXPECT_GT(fairshare.usage(qmanager::Credential::user, "ann"), 99);
}

// Licences and processors are free in turn: each pushes the other's time on, up to the last end.
TEST(Walks, ConsumablesAndProcessorsAgreeOnATime) {
  SchedulerConfig config = policy("conservative");
  config.pools["l"] = 2;
  std::string jobs;
  for (int i = 0; i < 40; ++i) jobs += i % 2 ? "J 0 4 3 3\n" : "L 0 1 3 3 uses=l:2\n";
  auto scheduler = on(4, config, jobs + "Z 0 4 50 50 uses=l:2\n");
  scheduler.step(0);
  const auto last = scheduler.outlook(JobId{41});
  ASSERT_TRUE(last && last->planned_start);
  EXPECT_GE(*last->planned_start, 60);
  scheduler.check_invariants();
}

TEST(Walks, AgreementOfConsumablesWithoutEnd) {
  SchedulerConfig config = policy("conservative");
  config.pools["l"] = 2;
  auto scheduler = on(4, config, "A 0 1 0 3 uses=l:1\nB 0 4 0 9\nC 0 1 0 9 uses=l:2");
  scheduler.step(0);
  EXPECT_EQ(scheduler.running(), 1u);
  EXPECT_FALSE(scheduler.outlook(JobId{3})->planned_start) << "A may hold its licence for ever";
}

}  // namespace
}  // namespace holon::tests
