// The page of a simulation: which policy it says has won, and what stands in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cli/report/study.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "sim/trace_file.hpp"
#include "tests/cli/pages/frozen_records.hpp"

namespace holon::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

sim::PolicyRun run_with(const std::string& name, double slowdown, double wait_seconds) {
  sim::PolicyRun run;
  run.name = name;
  run.metrics.bounded_slowdown.mean = slowdown;
  run.metrics.wait.mean = wait_seconds;
  return run;
}

TEST(Verdict, NamesThePolicyThatWonAndByHowMuch) {
  EXPECT_EQ(verdict_on({run_with("fcfs", 90, 7'200), run_with("easy", 4.52, 600),
                        run_with("conservative", 6, 900)}),
            "easy won: a mean bounded slowdown of 4.5 and a mean wait of 10m00s, against 90.0 and "
            "2h00m under fcfs (6.0 and 15m00s under conservative).");
  EXPECT_EQ(verdict_on({run_with("fcfs", 2, 60), run_with("easy", 1.5, 30)}),
            "easy won: a mean bounded slowdown of 1.5 and a mean wait of 30.0s, against 2.0 and "
            "1m00s under fcfs.");
}

TEST(Verdict, NamesNoWinnerWhereThereIsNone) {
  EXPECT_EQ(verdict_on({run_with("fcfs", 2, 60)}), "");
  EXPECT_THAT(verdict_on({run_with("fcfs", 2, 60), run_with("easy", 2.001, 60)}),
              HasSubstr("level"));
  EXPECT_THAT(
      verdict_on({run_with("fcfs", 9, 60), run_with("easy", 2, 50), run_with("own", 2.001, 51)}),
      HasSubstr("easy and own won"));
}

sim::Workload three_jobs() {
  sim::Workload workload;
  for (std::int64_t id = 1; id <= 3; ++id) {
    sim::TraceJob job;
    job.id = id;
    job.submit = id - 1;
    job.procs = id == 2 ? 3 : 1;
    job.limit = job.run = id == 3 ? 5 : 10;
    job.user = id == 3 ? "</script><b>" : "ann";
    workload.jobs.push_back(job);
  }
  return workload;
}

sim::StudyPlan plan_with(std::int64_t procs) {
  sim::StudyPlan plan;
  plan.procs = procs;
  plan.machine = [procs]() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::FlatMachine>(procs);
  };
  return plan;
}

std::vector<sim::PolicyRun> runs_of(const sim::Workload& workload) {
  sim::StudyPlan plan = plan_with(3);
  plan.policies = {"fcfs", "easy"};
  return sim::run_study(workload, plan).value();
}

// The state of a job of the first part.
std::string state_of(const nlohmann::json& records, std::size_t job) {
  return records["texts"][records["parts"][0]["jobs"][job][5].get<std::size_t>()];
}

// Under fcfs the third job waits for the second, which waits for all three processors; under easy
// it runs beside the first.
TEST(StudyPage, HasAPartAPolicyTheBestFirst) {
  const auto workload = three_jobs();
  const auto page = study_page({"three", {{"trace", "<b>"}}}, workload, runs_of(workload), 3);
  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_EQ(page->substr(0, page->find("<script")).find("<b>"), std::string::npos)
      << "a fact is text";
  EXPECT_THAT(*page, HasSubstr("<dt>trace</dt><dd>&lt;b></dd>"));
  const auto records = records_of(*page);
  ASSERT_EQ(records["parts"].size(), 2u);
  EXPECT_EQ(records["parts"][0]["instance"]["name"], "easy");
  EXPECT_THAT(records["verdict"].get<std::string>(), HasSubstr("easy won"));
  EXPECT_TRUE(records["elapsed"]);
  EXPECT_TRUE(records["figures"][0]["best"]);
  EXPECT_FALSE(records["figures"][1]["best"]);
  EXPECT_THAT(records["texts"], Contains("</script><b>")) << "a user's name is text";
  const auto first = records["parts"][0]["jobs"][0];
  EXPECT_EQ(first[1], 0);
  EXPECT_EQ(first[2], 1) << "it began at 0, and has begun";
  EXPECT_EQ(first[3], 10'001);
  // id, submitted, started and ended one ms more after that, processors.
  const auto third = records["parts"][0]["jobs"][2];
  EXPECT_EQ(third[0], 3);
  EXPECT_EQ(third[1], 2'000);
  EXPECT_EQ(third[2], 1) << "it has not waited";
  EXPECT_EQ(third[3], 5'001);
  EXPECT_EQ(records["parts"][0]["places"][1].dump(), "[0,0,3]");
  EXPECT_GT(records["parts"][1]["jobs"][2][2], 10'000) << "it has, under fcfs";
}

TEST(StudyPage, HasJobsThatNeverRanWithTheReason) {
  auto workload = three_jobs();
  workload.jobs[0].procs = 4;  // of 3
  const auto page = study_page({"three", {}}, workload, runs_of(workload), 3);
  ASSERT_TRUE(page) << to_string(page.error());
  const auto records = records_of(*page);
  ASSERT_EQ(records["parts"][0]["jobs"].size(), 3u);
  EXPECT_EQ(state_of(records, 0), "REJECTED");
  EXPECT_EQ(state_of(records, 1), "COMPLETED");
  ASSERT_EQ(records["parts"][0]["failures"].size(), 1u);
  EXPECT_NE(records["parts"][0]["failures"][0]["line"], "");
}

TEST(StudyPage, HasJobsThatWaitStill) {
  const auto workload = three_jobs();
  auto runs = runs_of(workload);
  runs.resize(1);
  runs[0].result.jobs[2].start.reset();
  const auto page = study_page({"three", {}}, workload, runs, 3);
  ASSERT_TRUE(page) << to_string(page.error());
  const auto records = records_of(*page);
  ASSERT_EQ(records["parts"][0]["jobs"].size(), 3u);
  EXPECT_EQ(state_of(records, 2), "SCHED");
}

// The urgent one takes the place of the first for 50 s, which then runs from the beginning.
TEST(StudyPage, WhatWasLostWasBusy) {
  const auto trace = sim::read_json_lines(
      "{\"submit\":0,\"procs\":4,\"run\":40,\"queue\":\"batch\",\"preemptible\":true}\n"
      "{\"submit\":10,\"procs\":4,\"run\":50,\"queue\":\"urgent\"}\n",
      {});
  ASSERT_TRUE(trace);
  sim::StudyPlan plan = plan_with(4);
  plan.policies = {"easy"};
  auto& queues = plan.options.config.queues;
  queues["batch"] = queues["urgent"] = plan.options.config.defaults;
  queues["urgent"].preempt.mode = qmanager::PreemptMode::requeue;
  plan.options.config.default_queue = "batch";
  const auto runs = sim::run_study(trace->workload, plan);
  ASSERT_TRUE(runs) << to_string(runs.error());
  const auto page = study_page({"lost", {}}, trace->workload, *runs, 4);
  ASSERT_TRUE(page) << to_string(page.error());
  const auto part = records_of(*page)["parts"][0];
  const Time first = part["first"];
  EXPECT_EQ(part["lost"].dump(), fmt::format("[[0,{},{},0,0,4]]", first, first + 10'000));
  const auto began = [&](std::size_t job) {
    return part["jobs"][job][1].get<Time>() + part["jobs"][job][2].get<Time>() - 1;
  };
  EXPECT_EQ(began(1), 10'000);
  EXPECT_EQ(began(0), 60'000);
}

// A root that owns nothing, and two instances below it that lend each other; "": it was not made.
std::string page_of_two_that_lend(const sim::Workload& workload) {
  const auto plan = sim::read_tree(
      "[instance.root]\nowned = 0\n"
      "[instance.a]\nparent = \"root\"\nowned = 2\nelastic = \"plan\"\n"
      "[instance.b]\nparent = \"root\"\nowned = 2\nelastic = \"plan\"\n"
      "[route]\nby = \"user\"\nto = [\"a\", \"b\"]\n",
      "tree.toml", 1);
  if (!plan) return "";
  const auto result = sim::simulate_tree(workload, *plan, {});
  if (!result) return "";
  return tree_page({"tree", {}}, workload, *plan, *result).value_or("");
}

TEST(StudyPage, OfATreeDrawsWhatEachInstanceHeld) {
  const auto workload = three_jobs();
  const std::string page = page_of_two_that_lend(workload);
  ASSERT_FALSE(page.empty());
  const auto grants = records_of(page)["parts"][0]["grants"];
  ASSERT_EQ(grants["rows"].size(), 3u);
  // By instance and colour, processors times ms: what is lent is what is borrowed.
  std::map<std::string, std::int64_t> held;
  for (const auto& piece : grants["pieces"])
    held[grants["colours"][piece[5].get<std::size_t>()]] +=
        piece[2].get<std::int64_t>() *
        (piece[4].get<std::int64_t>() - piece[3].get<std::int64_t>());
  EXPECT_GT(held["borrowed"], 0);
  EXPECT_EQ(held["borrowed"], held["lent"]);
}

// The first job can run nowhere; what the second borrows comes as it starts, by the same clock.
TEST(StudyPage, OfATreeHasGrantsAndJobsByOneClock) {
  auto workload = three_jobs();
  workload.jobs[0].procs = 99;
  const std::string page = page_of_two_that_lend(workload);
  ASSERT_FALSE(page.empty());
  const auto part = records_of(page)["parts"][0];
  const auto& second = part["jobs"][1];
  const Time start = part["first"].get<Time>() + second[1].get<Time>() + second[2].get<Time>() - 1;
  Time borrowed = kTimeMax;
  for (const auto& piece : part["grants"]["pieces"])
    if (part["grants"]["colours"][piece[5].get<std::size_t>()] == "borrowed")
      borrowed = std::min(borrowed, piece[3].get<Time>());
  EXPECT_EQ(borrowed, start);
}

}  // namespace
}  // namespace holon::cli
