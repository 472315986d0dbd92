#include "sim/study.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "qmanager/machine/flat_machine.hpp"
#include "sim/rectangles.hpp"
#include "sim/schedule_file.hpp"
#include "sim/trace_file.hpp"

namespace holon::sim {
namespace {

TraceJob job(std::int64_t id, Time submit, std::int64_t procs, Duration limit, Duration run) {
  return {.id = id,
          .submit = submit,
          .procs = procs,
          .limit = limit,
          .run = run,
          .user = {},
          .group = {},
          .queue = {}};
}

Workload small() {
  Workload workload;
  workload.jobs = {job(1, 0, 2, 4, 4), job(2, 0, 3, 2, 2), job(3, 0, 1, 4, 4), job(4, 1, 1, 9, 8)};
  return workload;
}

StudyPlan plan_for(std::vector<std::string> policies, std::int64_t procs) {
  StudyPlan plan;
  plan.policies = std::move(policies);
  plan.procs = procs;
  plan.machine = [procs]() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::FlatMachine>(procs);
  };
  return plan;
}

// The means of the processors that are busy in equal parts of the time.
std::vector<double> busy_in(const std::vector<Rectangle>& runs, Interval whole, std::size_t parts) {
  std::vector<double> means(parts, 0.0);
  const Duration length = whole.length() / static_cast<Duration>(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    const Time begin = whole.begin + static_cast<Duration>(i) * length;
    for (const Rectangle& r : runs) {
      const Interval both{std::max(begin, r.run.begin), std::min(begin + length, r.run.end)};
      if (!both.empty())
        means[i] += static_cast<double>(both.length() * r.count) / static_cast<double>(length);
    }
  }
  return means;
}

TEST(Study, IsTheSameToTheByteWithOneThreadAndWithTwo) {
  StudyPlan plan = plan_for({"fcfs", "easy", "conservative", "hybrid:2"}, 3);
  const auto once = run_study(small(), plan);
  plan.threads = 2;
  const auto again = run_study(small(), plan);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(metrics_json(*once, false), metrics_json(*again, false));
  EXPECT_EQ(metrics_table(*once), metrics_table(*again));
}

// The last one fits beside the first, and overtakes the one between them where its queue lets it.
TEST(Study, HasTheConfiguredPolicyOfEachQueueUnlessOneIsNamedForAll) {
  Workload workload;
  workload.jobs = {job(1, 0, 3, 100, 100), job(2, 1, 4, 100, 100), job(3, 2, 1, 50, 50)};
  for (TraceJob& submitted : workload.jobs) submitted.queue = "a";
  const auto run = [&](const char* a, const char* b, std::vector<std::string> policies = {}) {
    StudyPlan plan = plan_for(std::move(policies), 4);
    auto& config = plan.options.config;
    config.queues["a"].policy = a;
    config.queues["b"].policy = b;
    config.default_queue = "b";
    auto runs = run_study(workload, plan);
    EXPECT_TRUE(runs && runs->size() == 1);
    return std::pair(runs->front().name, runs->front().result.jobs.back().start);
  };
  using NameAndStart = std::pair<std::string, std::optional<Time>>;
  EXPECT_EQ(run("easy", "fcfs"), NameAndStart("easy of queue a, fcfs of queue b", 2));
  EXPECT_EQ(run("fcfs", "easy"), NameAndStart("fcfs of queue a, easy of queue b", 200));
  EXPECT_EQ(run("easy", "easy"), NameAndStart("easy", 2));
  EXPECT_EQ(run("easy", "fcfs", {"fcfs"}), NameAndStart("fcfs", 200));
}

// Both begin on the whole machine; the second one takes the place of the first, which loses ten
// seconds and then has all that it needs.
TEST(Study, TellsWhatPreemptionHasCost) {
  const auto trace = read_json_lines(
      "{\"submit\":0,\"procs\":4,\"run\":40,\"queue\":\"batch\",\"preemptible\":true}\n"
      "{\"submit\":10,\"procs\":4,\"run\":50,\"queue\":\"urgent\"}\n",
      {});
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->workload.jobs[0].preemptible);
  StudyPlan plan = plan_for({"easy"}, 4);
  auto& queues = plan.options.config.queues;
  queues["batch"] = queues["urgent"] = plan.options.config.defaults;
  queues["urgent"].preempt.mode = qmanager::PreemptMode::requeue;
  plan.options.config.default_queue = "batch";
  const auto runs = run_study(trace->workload, plan);
  ASSERT_TRUE(runs) << to_string(runs.error());
  const Metrics& metrics = runs->front().metrics;
  EXPECT_EQ(metrics.jobs, 2u);
  EXPECT_EQ(metrics.makespan, 100);
  EXPECT_EQ(metrics.preempted, 1u);
  EXPECT_DOUBLE_EQ(metrics.lost_share, 0.1);
  EXPECT_DOUBLE_EQ(metrics.utilization, 0.9);
  EXPECT_NE(metrics_summary(*runs).find("easy: 1 preemptions"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(metrics_json(*runs, false))[0]["preempted"], 1);
  EXPECT_EQ(busy_in(rectangles(trace->workload, runs->front().result, 4), {0, 100}, 10),
            std::vector<double>(10, 4.0))
      << "what was lost was busy";
}

TEST(Study, JsonHasAnObjectAPolicy) {
  const auto runs = run_study(small(), plan_for({"fcfs", "easy"}, 3));
  ASSERT_TRUE(runs);
  const auto json = nlohmann::json::parse(metrics_json(*runs, false));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["policy"], "easy");
  EXPECT_EQ(json[1]["jobs"], 4);
  for (const char* key :
       {"mean_wait", "mean_bounded_slowdown", "utilization", "makespan", "backfilled_share"})
    EXPECT_TRUE(json[0].contains(key)) << key;
  EXPECT_EQ(starts_csv(small(), (*runs)[1].result),
            "job,submit,procs,req,run,start\n1,0,2,4,4,0\n2,0,3,2,2,4\n3,0,1,4,4,0\n4,1,1,9,8,6\n");
}

// Whole seconds would be 0, below the mean.
TEST(Study, ShowsTenthsOfWaitsWhereTimesHaveFractions) {
  const auto trace = read_json_lines(
      "{\"submit\":0,\"procs\":2,\"run\":0.4}\n{\"submit\":0,\"procs\":1,\"run\":1}\n"
      "{\"submit\":0,\"procs\":1,\"run\":1}\n",
      {});
  ASSERT_TRUE(trace);
  const auto runs = run_study(trace->workload, plan_for({"fcfs"}, 2));
  ASSERT_TRUE(runs) << to_string(runs.error());
  const std::string waits = "        0.3       0.4        0.4        0.4 ";
  EXPECT_NE(metrics_summary(*runs).find(waits), std::string::npos) << metrics_summary(*runs);
  const std::string of_small = "1                 2        0.4       0.4        0.4        0.4 ";
  EXPECT_NE(metrics_table(*runs).find(of_small), std::string::npos) << metrics_table(*runs);
}

TEST(Study, ShowsWholeSecondsWhereTimesHaveNoFractions) {
  const auto runs = run_study(small(), plan_for({"fcfs"}, 3));
  ASSERT_TRUE(runs);
  EXPECT_NE(metrics_summary(*runs).find("        3.8         4          6          6 "),
            std::string::npos)
      << metrics_summary(*runs);
}

TEST(Study, AnUnknownPolicyIsRefusedWithWhatIsAccepted) {
  const auto runs = run_study(small(), plan_for({"fcfs", "lottery"}, 3));
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().what.find("conservative"), std::string::npos);
}

// Queue q1 has one slot, the other queues all there are.
TEST(Simulate, JobsGoToTheQueueOfTheTraceWhereThereIsOne) {
  Workload workload = small();
  for (TraceJob& j : workload.jobs) j.procs = 1, j.submit = 0;
  workload.jobs[0].queue = workload.jobs[1].queue = "q1";
  workload.jobs[2].queue = "q2";
  SimOptions options;
  options.config.queues["default"] = options.config.queues["q1"] = {};
  options.config.queues["q1"].slots = 1;
  const auto result = simulate(workload, std::make_unique<qmanager::FlatMachine>(4), options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->jobs[0].start, 0);
  EXPECT_EQ(result->jobs[1].start, 4) << "after the first of its queue";
  EXPECT_EQ(result->jobs[2].start, 0);
  EXPECT_EQ(result->jobs[3].start, 0);
}

TEST(ScheduleFile, HasWhatEachPassSawInGridEnginesFormat) {
  Workload workload;
  workload.jobs = {job(7, 0, 1, 30, 20), job(8, 0, 1, 30, 20)};
  ScheduleFile file(1000);
  SimOptions options;
  options.config.defaults.policy = "easy";
  options.watch = [&](Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult& step) {
    file.record(now, scheduler, step);
  };
  ASSERT_TRUE(simulate(workload, std::make_unique<qmanager::FlatMachine>(1), options));
  EXPECT_EQ(file.text(),
            "::::::::\n"
            "7:1:STARTING:1000:30:Q:default@flat:slots:1.000000\n"
            "8:1:RESERVING:1030:30:Q:default@flat:slots:1.000000\n"
            "::::::::\n"
            "8:1:STARTING:1020:30:Q:default@flat:slots:1.000000\n"
            "::::::::\n");
}

}  // namespace
}  // namespace holon::sim
