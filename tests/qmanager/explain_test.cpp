// Why a job waits, and the cheapest change that would start it now; each proposal is tried with the
// real scheduler.
#include <gtest/gtest.h>

#include "qmanager/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Change;
using qmanager::Scheduler;

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
  EXPECT_NE(c->reason.find("promised"), std::string::npos) << c->reason;
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

}  // namespace
}  // namespace holon::tests
