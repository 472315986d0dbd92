// Priorities from weighted factors, and fairshare.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "qmanager/job.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Credential;
using qmanager::Fairshare;
using qmanager::FairshareConfig;
using qmanager::PriorityConfig;
using qmanager::SchedulerConfig;

// Ticks are seconds; priorities are computed anew every tick.
SchedulerConfig weighted(const std::string& policy_name,
                         std::vector<std::pair<const char*, const char*>> settings) {
  SchedulerConfig config = policy(policy_name);
  config.priority.ticks_per_second = 1;
  config.priority.interval = 1;
  config.priority.fairshare.interval = 10;
  for (const auto& [key, value] : settings) {
    const Status set = config.priority.set(key, value);
    EXPECT_TRUE(set) << to_string(set.error());
  }
  return config;
}

struct PriorityCase {
  const char* name;
  SchedulerConfig config;
  int nodes;
  const char* jobs;
  const char* want;
};

const SchedulerConfig kHalfEach =
    weighted("fcfs", {{"fsuser-weight", "1"}, {"user.default.fstarget", "50"}});

const PriorityCase kPriorityCases[] = {
    {"nothing weighted: the order of submission", weighted("fcfs", {}), 1, R"(
        A   0      1     4     4
        B   0      1     8     2
        C   1      1     1     1)",
     R"(
      n0 |AAAABBC|
)"},
    {"the expansion factor favours short jobs", weighted("fcfs", {{"xfactor-weight", "100"}}), 1,
     R"(
        A   0      1     4     4
        B   0      1     8     2
        C   1      1     1     1)",
     R"(
      n0 |AAAACBB|
)"},
    {"size: the widest first", weighted("fcfs", {{"proc-weight", "1"}}), 2, R"(
        A   0      2     2     2
        B   0      1     2     2
        C   1      2     2     2)",
     R"(
      n0 |AACCBB|
      n1 |AACC..|
)"},
    {"a user's priority, and a class of its own below the default",
     weighted("fcfs", {{"user-weight", "1"},
                       {"user.ann.priority", "50"},
                       {"user.default.priority", "10"},
                       {"user.bob.priority", "-5"}}),
     1, R"(
        A   0      1     2     2   user=bob
        B   0      1     1     1   user=bob
        C   1      1     1     1   user=eve
        D   1      1     1     1   user=ann)",
     R"(
      n0 |AADCB|
)"},
    // B is worth 3 minutes of waiting, which C has had 180 s after B came: at 300 they are equal
    // and the earlier one goes first.
    {"waiting overtakes a credential in the end",
     weighted("fcfs",
              {{"queuetime-weight", "60"}, {"user-weight", "4"}, {"user.ann.priority", "1"}}),
     1, R"(
        A   0      1     10    10
        C   1      1     2     2
        B   4      1     2     2   user=ann
        E   6      1     2     2   user=ann)",
     R"(
      n0 |AAAAAAAAAABBCCEE|
)"},
    {"fairshare: who has used much waits for who has not", kHalfEach, 1, R"(
        A   0      1     4     4   user=ann
        B   1      1     2     2   user=ann
        C   2      1     2     2   user=bob
        D   2      1     2     2   user=bob)",
     R"(
      n0 |AAAACCDDBB|
)"},
    // After C both have used what they are to have: B came first.
    {"fairshare: until both have had their share", kHalfEach, 1, R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=ann
        C   0      1     2     2   user=bob
        D   0      1     2     2   user=bob)",
     R"(
      n0 |AACCBBDD|
)"},
    // The target of B, which came last, is reached at 4; that of C, which came before it, never.
    {"a queue time target: nothing until it is near, then everything",
     weighted("fcfs", {{"targetqueuetime-weight", "1"},
                       {"queuetime-weight", "1"},
                       {"qos.hi.qttarget", "3"},
                       {"qos.lo.qttarget", "1000"}}),
     1, R"(
        A   0      1     2     2
        C   0      1     2     2   qos=lo
        D   0      1     2     2   qos=lo
        B   1      1     2     2   qos=hi)",
     R"(
      n0 |AACCBBDD|
)"},
    // D and E are backfilled before B: their two bypasses are worth more than C's one.
    {"bypass: who was passed more often goes first",
     weighted("easy", {{"bypass-weight", "10"}, {"user-weight", "1"}, {"user.ann.priority", "1"}}),
     2, R"(
        A   0      1     6     6
        B   0      2     2     2
        D   0      1     1     1
        E   1      1     1     1
        C   1      2     2     2   user=ann)",
     R"(
      n0 |AAAAAABBCC|
      n1 |DE....BBCC|
)"},
};

TEST(Priority, Drawings) {
  for (const PriorityCase& c : kPriorityCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(gantt(run({.nodes = c.nodes, .jobs = parse_jobs(c.jobs), .config = c.config})),
              c.want);
  }
}

double part(const qmanager::PriorityBreakdown& breakdown, const std::string& factor) {
  for (const auto& p : breakdown.parts)
    if (p.factor == factor) return p.points;
  ADD_FAILURE() << "no part " << factor;
  return 0;
}

// A job of 4 processors that has waited 60 s of a limit of 120 s; running, it ran 30 s more.
double points(const char* factor, bool runs,
              std::vector<std::pair<const char*, const char*>> more) {
  PriorityConfig config;
  config.ticks_per_second = 1000;
  EXPECT_TRUE(config.set(std::string(factor) + "-weight", "1"));
  for (const auto& [key, value] : more) EXPECT_TRUE(config.set(key, value));
  qmanager::Job job;
  job.request.qos = "hi";
  job.procs = 4;
  job.demand = {.nodes = 2, .memory = 7, .swap = 8, .disk = 9, .equivalents = 6.5};
  job.bypassed = 3;
  if (runs) {
    job.place = qmanager::Job::Place::running;
    job.started = 60'000;
  }
  const auto breakdown =
      qmanager::priority_of(config, Fairshare(), job, 120'000, runs ? 90'000 : 60'000);
  return part(breakdown, factor);
}

TEST(Priority, EveryFactorIsWhatMauiDefines) {
  EXPECT_EQ(points("queuetime", false, {}), 1);
  EXPECT_EQ(points("xfactor", false, {}), 1.5);
  EXPECT_EQ(points("bypass", false, {}), 3);
  EXPECT_EQ(points("proc", false, {}), 4);
  EXPECT_EQ(points("node", false, {}), 2);
  EXPECT_EQ(points("mem", false, {}), 7);
  EXPECT_EQ(points("swap", false, {}), 8);
  EXPECT_EQ(points("disk", false, {}), 9);
  EXPECT_EQ(points("pe", false, {}), 6.5);
  EXPECT_EQ(points("ps", false, {}), 480);
  EXPECT_EQ(points("walltime", false, {}), 120);
  // (target - waited)^-2: small far away, large and no larger once it is missed.
  EXPECT_EQ(points("targetqueuetime", false, {}), 0);
  EXPECT_DOUBLE_EQ(points("targetqueuetime", false, {{"qos.hi.qttarget", "70"}}), 0.01);
  EXPECT_DOUBLE_EQ(points("targetqueuetime", false, {{"qos.hi.qttarget", "60"}}), 1e8);
  EXPECT_DOUBLE_EQ(points("targetqueuetime", false, {{"qos.hi.qttarget", "5"}}), 1e8);
  EXPECT_DOUBLE_EQ(points("targetqueuetime", false, {{"qos.lo.qttarget", "5"}}), 0);
  EXPECT_DOUBLE_EQ(points("targetxfactor", false, {{"qos.hi.xftarget", "3.5"}}), 0.25);
  EXPECT_DOUBLE_EQ(points("targetxfactor", false, {{"qos.hi.xftarget", "1.5"}}), 1e8);
  // Usage is of running jobs; their waiting is over.
  EXPECT_EQ(points("queuetime", true, {}), 1);
  EXPECT_EQ(points("usageconsumed", true, {}), 120);
  EXPECT_EQ(points("usageremaining", true, {}), 360);
  EXPECT_EQ(points("usagepercent", true, {}), 25);
  EXPECT_EQ(points("usageexecutiontime", true, {}), 30);
  EXPECT_EQ(points("usageconsumed", false, {}), 0);
  EXPECT_EQ(points("usageremaining", false, {}), 0);
}

TEST(Priority, OfTargetsIsOfAQosAlone) {
  PriorityConfig config;
  EXPECT_FALSE(config.set("user.ann.qttarget", "5"));
  EXPECT_FALSE(config.set("qos.hi.target", "5"));
  EXPECT_TRUE(config.set("target-cap", "5"));
}

TEST(Priority, TheBreakdownAddsUp) {
  auto config = weighted("fcfs", {{"queuetime-weight", "2"},
                                  {"xfactor-weight", "10"},
                                  {"xfactor-cap", "3"},
                                  {"proc-weight", "7"},
                                  {"ps-weight", "0.5"},
                                  {"res-weight", "3"},
                                  {"res-cap", "100"},
                                  {"qos-weight", "1"},
                                  {"qos.hi.priority", "1000"},
                                  {"qos.hi.qtweight", "5"}});
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  const auto jobs = parse_jobs("A 0 4 1000 1000\nB 0 4 60 60 qos=hi");
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
  EXPECT_EQ(scheduler.step(0).decisions.size(), 2u);  // the one of the QOS starts, the other waits
  const auto breakdown = scheduler.priority(jobs[0].request.id, 600);
  ASSERT_TRUE(breakdown);
  EXPECT_EQ(part(*breakdown, "queuetime"), 2 * 10);
  EXPECT_DOUBLE_EQ(part(*breakdown, "xfactor"), 10 * 1.6);
  EXPECT_EQ(part(*breakdown, "proc"), 3 * 7 * 4);
  EXPECT_EQ(part(*breakdown, "ps"), 3 * 0.5 * 4000);
  EXPECT_EQ(part(*breakdown, "res-cap"), 3 * (100 - 28 - 2000));
  EXPECT_EQ(part(*breakdown, "qos"), 0);
  EXPECT_EQ(breakdown->priority, 20 + 16 + 300);
  EXPECT_FALSE(breakdown->fixed);
  EXPECT_TRUE(scheduler.priority(jobs[1].request.id, 0));  // it runs
  EXPECT_EQ(scheduler.priority(JobId{99}, 0).error().code, Errc::not_found);
}

TEST(Priority, ACapBoundsTheValueAndAQosAddsToAWeight) {
  auto config = weighted(
      "fcfs", {{"queuetime-weight", "2"}, {"queuetime-cap", "4"}, {"qos.hi.qtweight", "5"}});
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  const auto jobs = parse_jobs("A 0 1 10 10\nB 0 1 10 10 qos=hi\nC 0 1 10 10");
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  EXPECT_EQ(scheduler.priority(jobs[1].request.id, 120)->priority, 7 * 2);
  EXPECT_EQ(scheduler.priority(jobs[1].request.id, 6000)->priority, 7 * 4);
  EXPECT_EQ(scheduler.priority(jobs[2].request.id, 6000)->priority, 2 * 4);
}

TEST(Priority, WhatIsSetByHandStaysUntilUrgencyIsSet) {
  auto config = weighted("fcfs", {{"proc-weight", "1"}, {"userprio-weight", "100"}});
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(2));
  const auto jobs = parse_jobs("A 0 2 10 10\nB 0 2 10 10\nC 0 1 10 10");
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  ASSERT_TRUE(scheduler.set_priority(jobs[2].request.id, 77));
  EXPECT_EQ(scheduler.outlook(jobs[2].request.id)->position, 0u);
  EXPECT_EQ(scheduler.priority(jobs[2].request.id, 5)->priority, 77);
  EXPECT_TRUE(scheduler.priority(jobs[2].request.id, 5)->fixed);
  ASSERT_TRUE(scheduler.set_urgency(jobs[2].request.id, 15));
  EXPECT_EQ(scheduler.priority(jobs[2].request.id, 5)->priority, 1 - 100);
  EXPECT_EQ(scheduler.outlook(jobs[2].request.id)->position, 1u);
  ASSERT_TRUE(scheduler.set_urgency(jobs[2].request.id, 31));
  EXPECT_EQ(scheduler.outlook(jobs[2].request.id)->position, 0u);
  scheduler.check_invariants();
}

TEST(Priority, HeldTimeEarnsNothingUnlessItIsToCount) {
  for (const bool always : {false, true}) {
    auto config = weighted("fcfs", {{"queuetime-weight", "1"}});
    if (always) config.priority.accrual = qmanager::Accrual::always;
    auto scheduler =
        *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
    const auto jobs = parse_jobs("A 0 1 9000 9000\nB 0 1 10 10 urgency=0");
    for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
    scheduler.step(0);
    scheduler.step(600);
    ASSERT_TRUE(scheduler.set_urgency(jobs[1].request.id, 16));
    scheduler.step(1200);
    EXPECT_EQ(scheduler.priority(jobs[1].request.id, 1200)->priority, always ? 20 : 10);
  }
}

// A limit that a later job's start has reached keeps back those in front of it as well, from then
// on, whenever the next pass over them is.
TEST(Priority, WaitingUnderFullPolicyEarnsNothingAsSoonAsAJobBehindHasReachedTheLimit) {
  auto config = weighted("easy", {{"queuetime-weight", "1"}});
  config.priority.accrual = qmanager::Accrual::full_policy;
  limit(config, "user", "ann", "max-job", "1");
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  const auto jobs =
      parse_jobs("R 0 3 9000 9000 user=bob\nA 0 4 9000 9000 user=ann\nB 0 1 1200 1200 user=ann");
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
  while (scheduler.step(0).more) {
  }
  ASSERT_EQ(scheduler.running(), 2U);
  ASSERT_TRUE(scheduler.finish(jobs[2].request.id, 1200));
  while (scheduler.step(1200).more) {
  }
  EXPECT_EQ(scheduler.priority(jobs[1].request.id, 1800)->priority, 10);
}

TEST(Priority, SettingsThatDoNotFitAreRefusedAndChangeNothing) {
  PriorityConfig config;
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, const char*>>{{"colour-weight", "1"},
                                                        {"proc-weight", "much"},
                                                        {"proc-cap", "-1"},
                                                        {"user.ann.fstarget", "x"},
                                                        {"user.ann.fstarget", "101"},
                                                        {"user.ann.qtweight", "1"},
                                                        {"dog.rex.priority", "1"},
                                                        {"user.priority", "1"},
                                                        {"proc", "1"}}) {
    EXPECT_FALSE(config.set(key, value)) << key;
    EXPECT_EQ(config, PriorityConfig{}) << key;
  }
}

// Its windows are counted from the epoch, and backwards by the depth.
TEST(Fairshare, WindowsPastTheEndOfTimeAreRefused) {
  SchedulerConfig config = kHalfEach;
  config.priority.fairshare.interval = kTimeMax / 2;
  const auto made = qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::invalid_argument);
  EXPECT_EQ(made.error().where, "priority");
}

// Maui's own example: user 5 below its target of 50, group without one, account 10 above its 25,
// QOS 15 above its floor of 10: 100 x (10 x 5 + 30 x -10).
TEST(Fairshare, TheExampleOfMauisManual) {
  auto config = weighted("fcfs", {{"fs-weight", "100"},
                                  {"fsuser-weight", "10"},
                                  {"fsgroup-weight", "20"},
                                  {"fsaccount-weight", "30"},
                                  {"fsqos-weight", "40"},
                                  {"user.A.fstarget", "50"},
                                  {"account.C.fstarget", "25"},
                                  {"qos.D.fstarget", "10+"}});
  config.priority.fairshare.interval = 1'000'000;
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  const auto used = [&](const char* user, const char* group, const char* account, const char* qos,
                        Duration share) {
    qmanager::JobRequest job;
    job.user = user, job.group = group, job.account = account, job.qos = qos;
    scheduler.charge_past(job, 1, {0, share});
  };
  used("A", "B", "C", "D", 25);
  used("A", "B", "C", "-", 10);
  used("A", "B", "-", "-", 10);
  used("-", "B", "-", "-", 20);
  used("-", "-", "-", "-", 35);
  const auto jobs = parse_jobs("Y 100 1 10 10\nX 100 1 10 10 user=A group=B account=C qos=D");
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 100));
  scheduler.set_priority(jobs[0].request.id, 1'000'000);
  scheduler.step(100);
  const auto breakdown = scheduler.priority(jobs[1].request.id, 100);
  ASSERT_TRUE(breakdown);
  EXPECT_EQ(breakdown->priority, 100 * (10 * 5 + 30 * -10));
}

// Against a tally kept tick by tick.
TEST(Fairshare, AgreesWithATally) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](int most) { return static_cast<int>(random() % unsigned(most)); };
    FairshareConfig config{
        .interval = 1 + up_to(9), .depth = 1 + up_to(5), .decay = 0.5, .targets = {}};
    Fairshare fairshare(config);
    struct Run {
      qmanager::JobRequest job;
      std::int64_t procs;
      Interval when;
    };
    std::vector<Run> runs;
    for (int i = 0; i < 12; ++i) {
      Run run{{}, 1 + up_to(5), {up_to(60), 0}};
      run.when.end = run.when.begin + 1 + up_to(30);
      run.job.user = std::string(1, static_cast<char>('a' + up_to(3)));
      runs.push_back(run);
    }
    for (Time t = 0; t < 100; ++t) {
      if (up_to(3) != 0) fairshare.advance(t);
      for (const Run& run : runs) {
        if (run.when.end == t) fairshare.advance(t), fairshare.ended(run.job, run.procs);
        if (run.when.begin == t) fairshare.started(run.job, run.procs, t);
      }
      if (up_to(4) != 0) continue;
      fairshare.advance(t);
      for (const char* user : {"a", "b", "c"}) {
        double own = 0, all = 0;
        for (const Run& run : runs)
          for (Time tick = run.when.begin; tick < std::min(t, run.when.end); ++tick) {
            const auto age = t / config.interval - tick / config.interval;
            if (age >= config.depth) continue;
            const double weight =
                std::pow(config.decay, static_cast<double>(age)) * double(run.procs);
            all += weight;
            if (run.job.user == user) own += weight;
          }
        EXPECT_NEAR(fairshare.usage(Credential::user, user), all > 0 ? 100 * own / all : 0, 1e-9)
            << "seed " << seed << " tick " << t << " user " << user;
      }
    }
  }
}

// The order of the queue is that of the priorities at every tick at which a pass is made, and who
// starts under FCFS is never less than who waits.
TEST(Priority, TheQueueIsAlwaysSortedByIt) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    auto config = weighted(seed % 2 == 0 ? "fcfs" : "easy", {{"queuetime-weight", "30"},
                                                             {"xfactor-weight", "3"},
                                                             {"proc-weight", "-1"},
                                                             {"user-weight", "1"},
                                                             {"user.ann.priority", "7"},
                                                             {"fsuser-weight", "0.3"},
                                                             {"user.default.fstarget", "30"}});
    std::vector<ScenarioJob> jobs = random_jobs(seed, 60, 6);
    sim::Workload workload;
    for (ScenarioJob& job : jobs) {
      job.request.user = job.trace.id % 3 == 0 ? "ann" : job.trace.id % 3 == 1 ? "bob" : "eve";
      workload.jobs.push_back(job.trace);
    }
    sim::SimOptions options;
    options.config = config;
    options.check_invariants = true;
    options.watch = [&](Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
      std::vector<std::tuple<std::int64_t, Time, std::uint64_t>> expected;
      std::map<std::size_t, std::tuple<std::int64_t, Time, std::uint64_t>> found;
      for (const ScenarioJob& job : jobs) {
        const auto outlook = scheduler.outlook(job.request.id);
        if (!outlook) continue;
        const auto priority = scheduler.priority(job.request.id, now)->priority;
        const std::tuple key{-priority, job.trace.submit, job.request.id.value()};
        expected.push_back(key);
        found[outlook->position] = key;
      }
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(found.size(), expected.size());
      std::size_t i = 0;
      for (const auto& [position, key] : found) EXPECT_EQ(key, expected[i++]) << "at " << now;
    };
    const auto result = sim::simulate(
        workload, std::make_unique<qmanager::FlatMachine>(6), options,
        [&](const sim::TraceJob& job) { return jobs[std::size_t(job.id) - 1].request; });
    ASSERT_TRUE(result);
    const Outcome outcome{jobs, *result, 6};
    expect_nothing_held_twice(outcome);
    for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_TRUE(result->jobs[i].start);
  }
}

// It has waited while its nodes were down, and has its place among those that are there.
TEST(Priority, AJobThatStoodAsideComesBackWithThePriorityThatItHasNow) {
  SchedulerConfig config = weighted("fcfs", {{"queuetime-weight", "1"}});
  config.priority.interval = 600;
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=2/core=1"), {});
  auto scheduler = *qmanager::Scheduler::create(config, store);
  ASSERT_TRUE(store.set_status("/cluster0/node1", false));
  scheduler.resources_changed();
  const auto submit = [&](std::uint64_t id, std::int64_t nodes, Time at) {
    resource::JobShape shape;
    shape.nodes = shape.tasks = nodes;
    shape.command = {"true"};
    qmanager::JobRequest job;
    job.id = JobId{id};
    job.submitted = at;
    job.limit = 5000;
    job.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    ASSERT_FALSE(scheduler.submit(job, at)->has_value());
    scheduler.step(at);
  };
  submit(1, 1, 0);
  submit(2, 2, 10);  // stands aside
  submit(3, 1, 70);
  scheduler.step(600);
  ASSERT_TRUE(store.set_status("/cluster0/node1", true));
  scheduler.resources_changed();
  EXPECT_EQ(scheduler.outlook(JobId{2})->position, 0u);
  EXPECT_EQ(scheduler.outlook(JobId{3})->position, 1u);
  scheduler.step(1000);
  EXPECT_EQ(scheduler.running(), 1u) << "job 3 does not go in front of it";
}

// Nothing happens between 3 and the end of A at 10 but that A's remaining time falls: with it the
// limit of 8 processor-seconds leaves room for B's 3 at 5.
TEST(Priority, ALimitOnProcessorTimeGivesWayByItself) {
  SchedulerConfig config = policy("easy");
  ASSERT_TRUE(config.limits.set("user.ann", "max-ps", "8", 1));
  const auto jobs = parse_jobs(R"(
        A   0      1     10    10  user=bob
        C   0      1     8     8   user=ann
        B   1      1     3     3   user=ann)");
  EXPECT_EQ(gantt(run({.nodes = 3, .jobs = jobs, .config = config})), R"(
      n0 |AAAAAAAAAA|
      n1 |CCCCCCCC..|
      n2 |...BBB....|
)");
}

}  // namespace
}  // namespace holon::tests
