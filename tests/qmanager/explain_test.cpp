// Why a job waits, and the cheapest change that would start it now; each proposal is tried with the
// real scheduler.
#include <gtest/gtest.h>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Change;
using qmanager::Scheduler;
using qmanager::WaitKind;

Scheduler scheduler_with(const qmanager::SchedulerConfig& config, int nodes,
                         const std::vector<ScenarioJob>& jobs) {
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(nodes));
  for (const auto& job : jobs) EXPECT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  return scheduler;
}

TEST(Explain, NamesWhatIsInTheWayAndWhatWouldHelp) {
  auto scheduler = scheduler_with(policy("easy"), 4, parse_jobs(R"(
        A   0      2     10    10
        B   0      4     5     5
        C   0      2     30    30
        D   0      3     4     4)"));
  const auto c = scheduler.explain(JobId{3}, 0);
  ASSERT_TRUE(c);
  EXPECT_NE(c->reason.find("reserved for"), std::string::npos) << c->reason;
  ASSERT_EQ(c->changes.size(), 1u);  // fewer nodes do not help: B needs all of them at 10
  EXPECT_EQ(c->changes[0].kind, Change::Kind::limit);
  EXPECT_EQ(c->changes[0].value, 10);
  EXPECT_EQ(c->room_at, 15);  // when B has ended
  const auto d = scheduler.explain(JobId{4}, 0);
  EXPECT_EQ(d->in_the_way.front(), JobId{1});
  ASSERT_FALSE(d->changes.empty());
  EXPECT_EQ(d->changes[0].kind, Change::Kind::size);
  EXPECT_EQ(d->changes[0].value, 2);
  EXPECT_EQ(d->considered, 3);
  EXPECT_EQ(d->pending, 3u);
  const auto b = scheduler.explain(JobId{2}, 0);
  EXPECT_EQ(b->planned_start, 10);
  EXPECT_EQ(b->room_at, std::nullopt);
  scheduler.check_invariants();
}

TEST(Explain, AnotherQueueIsProposedWhereOnlyTheOrderIsInTheWay) {
  qmanager::SchedulerConfig config;
  config.queues["batch"].policy = "fcfs";
  config.queues["debug"].policy = "fcfs";
  config.default_queue = "batch";
  auto scheduler = scheduler_with(config, 4, parse_jobs(R"(
        A   0      2     10    10
        B   0      4     5     5
        C   0      2     3     3)"));
  const auto c = scheduler.explain(JobId{3}, 0);
  ASSERT_TRUE(c);
  ASSERT_EQ(c->changes.size(), 1u);
  EXPECT_EQ(c->changes[0].queue, "debug");
}

// Submitted with the change after the others, as the last of the queue, it starts. The head is left
// out: without it another job would be the head.
TEST(Explain, WhatIsProposedReallyStarts) {
  int tried = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const auto jobs = random_jobs(seed, 10, 6);
    auto scheduler = scheduler_with(policy("easy"), 6, jobs);
    for (const auto& job : jobs) {
      const auto explanation = scheduler.explain(job.request.id, 0);
      if (!explanation || explanation->planned_start) continue;
      for (const Change& change : explanation->changes) {
        auto others = jobs;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(job.request.id.value()) - 1);
        auto again = scheduler_with(policy("easy"), 6, others);
        auto request = job.request;
        (change.kind == Change::Kind::limit ? request.limit : request.procs) = change.value;
        ASSERT_TRUE(again.submit(request, 0));
        again.step(0);
        EXPECT_FALSE(again.outlook(request.id))
            << "seed " << seed << ", job " << request.id.value() << ": " << change.text;
        ++tried;
      }
    }
    scheduler.check_invariants();
  }
  EXPECT_GT(tried, 50);
}

// ---- what is in the way is named

struct Wait {
  const char* name;
  const char* jobs;
  std::uint64_t job;  // that is asked about
  const char* want;   // the reason
  WaitKind kind;
  std::vector<std::uint64_t> in_the_way;
};

// Four nodes, three licences, an advance reservation of three nodes and two licences from 10 to 20.
const Wait kWaits[] = {
    {"an advance reservation that begins before its limit would end",
     "A 0 2 12 12",
     1,
     "what it needs is free, but from 10 on reserved for advance reservation 90 (maint) from 10 to "
     "20, before its time limit would end",
     WaitKind::reservation,
     {90}},
    {"one that has the licences it would need",
     "A 0 1 12 12 uses=lic:2",
     1,
     "what it needs is free, but from 10 on reserved for advance reservation 90 (maint) from 10 to "
     "20, before its time limit would end: until then it needs 2 lic, 1 of 3 is free",
     WaitKind::reservation,
     {90}},
    {"licences that others have",
     "A 0 1 9 9 uses=lic:2\nB 0 1 5 5 uses=lic:1\nC 0 1 4 4 uses=lic:2",
     3,
     "it needs 2 lic, 0 of 3 are free (job 2 has 1, job 1 has 2)",
     WaitKind::pool,
     {2, 1}},
    {"processors that others have",
     "A 0 3 9 9\nB 0 2 5 5",
     2,
     "the 2 processors it needs are not free: 1 of 4 is",
     WaitKind::resources,
     {1}},
    {"a reservation of a job in front of it",
     "A 0 2 5 5\nB 0 4 5 5\nC 0 2 6 6",
     3,
     "what it needs is free, but from 5 on reserved for job 2, before its time limit would end",
     WaitKind::reservation,
     {2}},
    {"the head, planned, is told what it waits for",
     "A 0 2 5 5\nB 0 4 5 5\nC 0 2 6 6",
     2,
     "the 4 processors it needs are not free: 2 of 4 are",
     WaitKind::resources,
     {1}},
};

Scheduler with_maintenance(const qmanager::SchedulerConfig& config,
                           const std::vector<ScenarioJob>& jobs) {
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  qmanager::AdvanceRequest maintenance;
  maintenance.resources.id = JobId{90};
  maintenance.resources.procs = 3;
  maintenance.resources.consumes = {{"lic", 2}};
  maintenance.when = {10, 20};
  maintenance.name = "maint";
  EXPECT_FALSE(scheduler.reserve_ahead(maintenance, 0)->refused);
  for (const auto& job : jobs) EXPECT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  return scheduler;
}

qmanager::SchedulerConfig with_licences(const std::string& name) {
  auto config = policy(name);
  config.pools["lic"] = 3;
  return config;
}

TEST(Explain, NamesWhoHasOrHasReservedWhatAJobWaitsFor) {
  for (const Wait& wait : kWaits) {
    SCOPED_TRACE(wait.name);
    auto scheduler = with_maintenance(with_licences("easy"), parse_jobs(wait.jobs));
    const auto listed = scheduler.outlook(JobId{wait.job});
    ASSERT_TRUE(listed) << to_string(listed.error());
    EXPECT_EQ(listed->reason.substr(0, listed->reason.find("; job")), wait.want);
    const auto explained = scheduler.explain(JobId{wait.job}, 0);
    EXPECT_EQ(explained->reason, listed->reason);
    EXPECT_EQ(name_of(listed->kind), name_of(wait.kind));
    EXPECT_EQ(name_of(explained->kind), name_of(wait.kind));
    std::vector<std::uint64_t> in_the_way;
    for (const JobId id : explained->in_the_way) in_the_way.push_back(id.value());
    in_the_way.resize(std::min(in_the_way.size(), wait.in_the_way.size()));
    EXPECT_EQ(in_the_way, wait.in_the_way) << "whoever is in front of it comes last";
  }
}

// The kind of what a job waits for under a policy on four nodes, after a pass.
std::string kind_of(qmanager::SchedulerConfig config, const char* jobs, std::uint64_t job) {
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  for (const auto& asked : parse_jobs(jobs)) EXPECT_TRUE(scheduler.submit(asked.request, 0));
  scheduler.step(0);
  const auto outlook = scheduler.outlook(JobId{job});
  return outlook ? std::string(name_of(outlook->kind)) : outlook.error().what;
}

TEST(Explain, TheRuleOfAQueueThatKeepsAJobBackHasAKind) {
  constexpr const char* kBehind = "A 0 3 9 9\nB 0 4 5 5\nC 0 1 5 5\nD 0 4 5 5";
  EXPECT_EQ(kind_of(policy("fcfs"), kBehind, 3), "order");
  EXPECT_EQ(kind_of(policy("easy"), "A 0 3 9 9 urgency=0", 1), "held");
}

TEST(Explain, OneThatIsUnderWayIsNamedWithWhatItHas) {
  auto scheduler = with_maintenance(with_licences("easy"), parse_jobs("A 0 4 5 5"));
  ASSERT_FALSE(scheduler.submit(parse_jobs("A 0 2 5 5\nB 0 2 5 5")[1].request, 0)->has_value());
  ASSERT_TRUE(scheduler.finish(JobId{1}, 4));
  EXPECT_EQ(scheduler.outlook(JobId{2})->reason, "the scheduler has not tried it yet");
  scheduler.step(10);
  EXPECT_EQ(scheduler.outlook(JobId{2})->reason,
            "the 2 processors it needs are not free: 1 of 4 is; advance reservation 90 (maint) "
            "from 10 to 20 has 3");
  EXPECT_EQ(scheduler.explain(JobId{2}, 10)->in_the_way.at(0), JobId{90});
}

TEST(Explain, TheListAndTheExplanationGiveTheSameReason) {
  const char* const policies[] = {"fcfs", "easy", "hybrid:2", "conservative",
                                  "conservative-rebuild"};
  int asked = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    auto jobs = random_jobs(seed, 12, 4);
    for (std::size_t i = 0; i < jobs.size(); i += 3) jobs[i].request.consumes = {{"lic", 2}};
    auto scheduler = with_maintenance(with_licences(policies[seed % 5]), jobs);
    for (const auto& job : jobs) {
      const auto listed = scheduler.outlook(job.request.id);
      if (!listed) continue;
      const auto explained = scheduler.explain(job.request.id, 0);
      EXPECT_EQ(listed->reason, explained->reason) << "seed " << seed;
      EXPECT_EQ(name_of(listed->kind), name_of(explained->kind)) << "seed " << seed;
      EXPECT_FALSE(listed->reason.empty());
      const auto again = scheduler.outlook(job.request.id);
      EXPECT_EQ(again->reason, explained->reason) << "seed " << seed;
      ++asked;
    }
    scheduler.check_invariants();
  }
  EXPECT_GT(asked, 300);
}

}  // namespace
}  // namespace holon::tests
