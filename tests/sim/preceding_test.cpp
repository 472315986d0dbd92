// Jobs that follow other ones: SWF fields 17 and 18.
#include "sim/preceding.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include <fmt/core.h>

#include "qmanager/machine/flat_machine.hpp"
#include "sim/simulate.hpp"
#include "sim/study.hpp"
#include "sim/swf.hpp"
#include "sim/trace_file.hpp"

namespace holon::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Row {
  std::int64_t id, submit, run, procs, preceding = -1, think = -1;
};

std::string swf(const std::vector<Row>& rows) {
  std::string text = "; MaxProcs: 4\n";
  for (const Row& r : rows)
    text += fmt::format("{} {} -1 {} {} -1 -1 {} {} -1 1 1 1 -1 -1 -1 {} {}\n", r.id, r.submit,
                        r.run, r.procs, r.procs, r.run, r.preceding, r.think);
  return text;
}

constexpr SwfOptions kFollow{.think_times = true};

SwfTrace read(const std::vector<Row>& rows, const SwfOptions& options = kFollow) {
  auto trace = read_swf(swf(rows), options);
  EXPECT_TRUE(trace) << trace.error().what;
  return trace ? std::move(*trace) : SwfTrace();
}

SimResult play(const Workload& workload, Order order, const std::string& policy = "easy") {
  SimOptions options;
  options.config.defaults.policy = policy;
  options.order = order;
  options.check_invariants = true;
  auto result = simulate(workload, std::make_unique<qmanager::FlatMachine>(4), options);
  EXPECT_TRUE(result);
  return std::move(*result);
}

// "id: submitted-start", by id.
std::vector<std::string> times(const Workload& workload, const SimResult& result) {
  std::map<std::int64_t, std::string> by_id;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    by_id[workload.jobs[i].id] =
        fmt::format("{}: {}-{}", workload.jobs[i].id, result.jobs[i].submitted,
                    result.jobs[i].start ? std::to_string(*result.jobs[i].start) : "never");
  std::vector<std::string> all;
  for (const auto& [id, text] : by_id) all.push_back(text);
  return all;
}

TEST(Preceding, AJobIsSubmittedWhenItsPrecedingOneHasEndedAndItsUserHasThought) {
  // 2 waits for 1 on the full machine, so that 3 comes later than the trace says; 4 comes at once.
  const SwfTrace trace =
      read({{1, 0, 10, 4}, {2, 0, 10, 4}, {3, 12, 5, 1, 2, 7}, {4, 13, 5, 1, 3, 0}});
  EXPECT_EQ(trace.issue_count, 0u);
  for (const Order order : {Order::batch, Order::event})
    EXPECT_THAT(times(trace.workload, play(trace.workload, order)),
                ElementsAre("1: 0-0", "2: 0-10", "3: 27-27", "4: 32-32"));
}

TEST(Preceding, WithoutTheOptionTheFieldsAreIgnored) {
  const std::vector<Row> rows = {{1, 0, 10, 4, 99, 5}, {2, 3, 10, 4, 2, -1}};
  const SwfTrace trace = read(rows, {});
  EXPECT_EQ(trace.issue_count, 0u);
  EXPECT_THAT(times(trace.workload, play(trace.workload, Order::batch)),
              ElementsAre("1: 0-0", "2: 3-10"));
}

TEST(Preceding, WaitsAndStartTimesCountFromTheSubmissionThatHappened) {
  const SwfTrace trace = read({{1, 0, 10, 4}, {2, 1, 10, 4}, {3, 2, 5, 1, 1, 5}});
  const SimResult result = play(trace.workload, Order::batch, "fcfs");
  EXPECT_EQ(starts_csv(trace.workload, result),
            "job,submit,procs,req,run,start\n1,0,4,10,10,0\n2,1,4,10,10,10\n3,15,1,5,5,20\n");
  const Metrics metrics = measure(trace.workload, result, 4);
  EXPECT_DOUBLE_EQ(metrics.wait.max, 9);
  EXPECT_DOUBLE_EQ(metrics.wait.mean, (0 + 9 + 5) / 3.0);
}

TEST(Preceding, ReferencesThatCannotBeFollowedAreReportedAndTheTraceBelieved) {
  const std::vector<Row> rows = {{1, 0, 10, 4, 1, 5},    // itself
                                 {2, 1, 10, 4, 77, 5},   // no such job
                                 {3, 2, 10, 9, -1, -1},  // too large: left out
                                 {4, 3, 10, 1, 3, 5},    // ... so that it is not there
                                 {5, 4, 10, 1, 6, 5},    // a cycle: 5 and 6
                                 {6, 5, 10, 1, 5, 5},   {7, 6, 10, 1, 6, -1}};  // no think time
  const SwfTrace trace = read(rows);
  std::vector<std::string> told;
  for (const TraceIssue& issue : trace.issues)
    told.push_back(fmt::format("{} {}: {}", issue.line, issue.field, issue.what));
  EXPECT_THAT(told,
              ElementsAre("4 requested processors: 9 processors asked for, the machine has 4",
                          "2 preceding job: it is the job itself; it is not waited for",
                          "3 preceding job: job 77 is not in the trace, or was left out; it is not "
                          "waited for",
                          "5 preceding job: job 3 is not in the trace, or was left out; it is not "
                          "waited for",
                          "6 preceding job: job 6 is submitted later than this one; it is not "
                          "waited for",
                          "8 think time: -1 is not known, taken as 0"));
  EXPECT_EQ(trace.issue_count, 6u);
  EXPECT_EQ(trace.skipped, 1u);
  const SimResult result = play(trace.workload, Order::batch, "fcfs");
  EXPECT_THAT(times(trace.workload, result),
              ElementsAre("1: 0-0", "2: 1-10", "4: 3-20", "5: 4-20", "6: 35-35", "7: 45-45"));
}

TEST(Preceding, StrictStopsAtTheFirstOfThem) {
  const auto trace = read_swf(swf({{1, 0, 10, 4}, {2, 1, 10, 4, 3, 0}, {3, 2, 10, 4}}),
                              {.strict = true, .think_times = true});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().where, "line 3");
  EXPECT_THAT(trace.error().what, HasSubstr("preceding job: job 3 is submitted later"));
}

TEST(Preceding, JsonLinesHaveItToo) {
  const auto trace = read_json_lines(
      "{\"submit\": 0, \"procs\": 4, \"run\": 10}\n"
      "{\"submit\": 0, \"procs\": 4, \"run\": 10, \"preceding\": 1, \"think\": 3}\n"
      "{\"submit\": 1, \"procs\": 4, \"run\": 10, \"preceding\": 9}\n"
      "{\"submit\": 1, \"procs\": 4, \"run\": 10, \"preceding\": \"1\"}\n",
      kFollow);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->issue_count, 2u);
  EXPECT_THAT(times(trace->workload, play(trace->workload, Order::batch)),
              ElementsAre("1: 0-0", "2: 13-20", "3: 1-10"));
}

TEST(Preceding, WhoseJobIsRefusedGoesOnWithoutIt) {
  SwfTrace trace = read({{1, 0, 10, 4}, {2, 5, 10, 1, 1, 2}, {3, 6, 10, 1, 2, 3}});
  trace.workload.jobs[1].procs = 5;
  EXPECT_THAT(times(trace.workload, play(trace.workload, Order::batch)),
              ElementsAre("1: 0-0", "2: 12-never", "3: 15-15"));
}

// Whatever the policy: nobody comes before the one he follows has ended and he has thought, nor
// later.
TEST(Preceding, EveryFollowerComesExactlyThinkTimeAfterThatEnd) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    std::vector<Row> rows;
    for (std::int64_t id = 1; id <= 30; ++id)
      rows.push_back(
          {id, upto(40), 1 + upto(9), 1 + upto(3), upto(2) == 0 ? 1 + upto(29) : -1, upto(6)});
    const SwfTrace trace = read(rows);
    std::map<std::int64_t, std::size_t> place;
    for (std::size_t i = 0; i < trace.workload.jobs.size(); ++i)
      place[trace.workload.jobs[i].id] = i;
    for (const char* policy : {"fcfs", "easy", "conservative", "conservative-rebuild"})
      for (const Order order : {Order::batch, Order::event}) {
        SCOPED_TRACE(fmt::format("seed {}, {}, order {}", seed, policy, static_cast<int>(order)));
        const SimResult result = play(trace.workload, order, policy);
        for (std::size_t i = 0; i < trace.workload.jobs.size(); ++i) {
          const TraceJob& job = trace.workload.jobs[i];
          const JobOutcome& outcome = result.jobs[i];
          ASSERT_TRUE(outcome.start.has_value()) << job.id;
          ASSERT_GE(*outcome.start, outcome.submitted);
          if (job.preceding == kNoJob) {
            ASSERT_EQ(outcome.submitted, job.submit);
            continue;
          }
          const std::size_t before = place.at(job.preceding);
          ASSERT_EQ(outcome.submitted,
                    *result.jobs[before].start + trace.workload.jobs[before].run + job.think);
        }
        ASSERT_EQ(times(trace.workload, play(trace.workload, order, policy)),
                  times(trace.workload, result));
      }
  }
}

}  // namespace
}  // namespace holon::sim
