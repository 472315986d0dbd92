// What people have of their own jobs: holon's history, Slurm's sacct, SWF with fractions; and that
// one job is the same in each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "sim/formats/records.hpp"
#include "sim/formats/sacct.hpp"
#include "sim/formats/swf_text.hpp"
#include "sim/study.hpp"
#include "sim/trace_file.hpp"

namespace holon::sim {
namespace {

using testing::HasSubstr;

// "id submit procs limit run user queue", a line a job, times as people read them.
std::string jobs_of(const SwfTrace& trace) {
  const auto shown = [&](Time t) { return seconds_text(t, trace.workload.ticks_per_second); };
  std::string text;
  for (const TraceJob& job : trace.workload.jobs)
    text += std::to_string(job.id) + " " + shown(job.submit) + " " + std::to_string(job.procs) +
            " " + shown(job.limit) + " " + shown(job.run) + " " + job.user + " " + job.queue + "\n";
  return text;
}

std::string issues_of(const SwfTrace& trace) {
  std::string text;
  for (const TraceIssue& issue : trace.issues)
    text += std::to_string(issue.line) + ":" + std::to_string(issue.column) + " " + issue.field +
            ": " + issue.what + "\n";
  return text;
}

std::string jobs_in(const std::string& text, const SwfOptions& options = {}) {
  const auto trace = read_trace(text, options);
  return trace ? jobs_of(*trace) : to_string(trace.error());
}

// ---- fractions

TEST(Fractions, OfSecondsAreKept) {
  const auto trace =
      read_swf("1 0.25 -1 0.4 2 -1 -1 2 1.5 -1 1\n2 10 -1 3.0004 2 -1 -1 2 60 -1 1\n", {});
  ASSERT_TRUE(trace);
  EXPECT_EQ(issues_of(*trace), "");
  EXPECT_EQ(trace->workload.ticks_per_second, 1000);
  EXPECT_EQ(jobs_of(*trace), "1 0.25 2 1.5 0.4  \n2 10 2 60 3  \n");
}

TEST(Fractions, WholeSecondsStayTheTicks) {
  const auto trace = read_swf("1 5.000 -1 60.0 2 -1 -1 2 120 -1 1\n", {});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->workload.ticks_per_second, 1);
  EXPECT_EQ(trace->workload.jobs.at(0).run, 60);
}

TEST(Fractions, NoSecondIsLessThanHalfOfOneAndNotUnknown) {
  const auto trace = read_swf(
      "1 0 -1 0 2 -1 -1 2 120 -1 1\n2 0 -1 0 2 -1 -1 2 -1 -1 1\n3 0 -1 0 -1 -1 -1 2 60 -1 5\n", {});
  ASSERT_TRUE(trace);
  EXPECT_EQ(issues_of(*trace), "3:0 run time: it was cancelled before it ran\n");
  EXPECT_EQ(jobs_of(*trace), "1 0 2 120 0  \n2 0 2 1 0  \n");
  EXPECT_EQ(jobs_in("{\"submit\": 0, \"procs\": 2, \"run\": 0}\n"), "1 0 2 1 0  \n");
}

SimResult simulated_on(const Workload& workload, std::int64_t procs, Order order) {
  SimOptions options;
  options.order = order;
  options.check_invariants = true;
  options.config.priority.ticks_per_second = workload.ticks_per_second;
  return *simulate(workload, std::make_unique<qmanager::FlatMachine>(procs), options);
}

// A job of no time takes its turn, and gives the processors back at once.
TEST(Fractions, JobsOfNoTimeAreSimulated) {
  const auto trace = read_swf(
      "1 0 -1 10 2 -1 -1 2 10\n2 1 -1 0 2 -1 -1 2 10\n3 2 -1 0.5 2 -1 -1 2 10\n4 3 -1 0 1 -1 -1 1 "
      "10\n",
      {});
  ASSERT_TRUE(trace);
  for (const Order order : {Order::batch, Order::event}) {
    const auto result = simulated_on(trace->workload, 2, order);
    EXPECT_EQ(starts_csv(trace->workload, result),
              "job,submit,procs,req,run,start\n1,0,2,10,10,0\n2,1,2,10,0,10\n3,2,2,10,0.5,10\n4,3,"
              "1,10,0,10.5\n");
    const Metrics metrics = measure(trace->workload, result, 2);
    EXPECT_EQ(metrics.makespan, 10'500);
    EXPECT_DOUBLE_EQ(metrics.wait.max, 9);
  }
  const auto nothing = read_swf("1 0 -1 0 2 -1 -1 2 10\n", {});
  const auto result = simulated_on(nothing->workload, 2, Order::batch);
  EXPECT_EQ(measure(nothing->workload, result, 2).utilization, 0);
}

// ---- holon history --json

const char* const kHistory = R"({
  "jobs": [
    {
      "path": "/1", "id": 1, "user": "ann", "queue": "default", "account": "physics",
      "state": "INACTIVE", "result": "COMPLETED", "ncores": 4, "limit": 60000,
      "t_submit": 1700000000250, "t_start": 1700000001000, "t_finish": 1700000011500
    },
    {
      "path": "/2", "id": 2, "user": "bob", "queue": "default", "state": "INACTIVE",
      "result": "CANCELED", "ncores": 1, "t_submit": 1700000002000, "t_inactive": 1700000003000
    },
    {
      "path": "/3", "id": 3, "user": "bob", "queue": "default", "state": "INACTIVE",
      "result": "TIMEOUT", "ncores": 2, "limit": 5000,
      "t_submit": 1700000003000, "t_start": 1700000003000, "t_finish": 1700000008017
    },
    {"path": "/4", "id": 4, "state": "RUN", "ncores": 1, "t_submit": 1700000003000,
     "t_start": 1700000003000}
  ],
  "cores": 16
}
)";

TEST(History, IsRead) {
  const auto trace = read_trace(kHistory, {});
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(jobs_of(*trace), "1 0.25 4 60 10.5 ann default\n3 3 2 5 5 bob default\n");
  EXPECT_EQ(issues_of(*trace), "8:0 t_start: job 2 never ran\n17:0 state: job 4 is not over\n");
  EXPECT_EQ(trace->workload.max_procs, 16);
  EXPECT_EQ(trace->workload.jobs.at(0).account, "physics");
}

// As jq '.jobs' and jq -c '.jobs[]' make it.
TEST(History, IsReadAsAListAndALineEach) {
  const std::string one =
      R"({"path": "/1", "id": 1, "user": "ann", "state": "INACTIVE", "ncores": 4, )"
      R"("t_submit": 1700000000000, "t_start": 1700000001000, "t_finish": 1700000011000})";
  for (const std::string& text : {"[" + one + "]\n", one + "\n", "{\"jobs\": [" + one + "]}"})
    EXPECT_EQ(jobs_in(text), "1 0 4 0 10 ann \n") << text;
}

TEST(History, JsonAtFaultIsToldWithLineAndColumn) {
  const auto whole = std::string(kHistory);
  for (const auto& [from, to, where] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"\"ncores\": 1, \"t_submit\"", "\"ncores\": 1 \"t_submit\"", "line 10, column 50"},
           {"    },\n    {\n      \"path\": \"/2\"", "    }\n    {\n      \"path\": \"/2\"",
            "line 8, column 5"},
           {"  \"cores\": 16\n}", "  \"cores\": 16\n", "line 22, column 1"},
           {"\"jobs\"", "\"job\"", "line 1, column 1"}}) {
    auto broken = whole;
    const auto at = broken.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    broken.replace(at, from.size(), to);
    const auto trace = read_trace(broken, {});
    ASSERT_FALSE(trace) << to;
    EXPECT_EQ(trace.error().where, where) << trace.error().what;
  }
}

TEST(History, OfAnArrayWithoutItsTasksEqualOnesAreTaken) {
  const std::string array =
      R"({"id": 5, "state": "INACTIVE", "ncores": 2, "t_submit": 1700000000000, "tasks": 3, )"
      R"("tasks_started": 2, "tasks_run_ms": 5000, "tasks_core_ms": 10000, "array": 5})";
  const std::string task =
      R"({"id": 6, "array": 5, "state": "INACTIVE", "ncores": 2, "t_submit": 1700000000000, )"
      R"("t_start": 1700000000000, "t_finish": 1700000001000})";
  EXPECT_EQ(jobs_in(array), "6 0 2 0 2.5  \n7 0 2 0 2.5  \n");
  EXPECT_EQ(jobs_in(array + "\n" + task), "6 0 2 0 1  \n");
}

TEST(History, AnInstanceWhoseJobsAreThereIsNoJobAndEachNumberIsGivenOnce) {
  const std::string common = R"("state": "INACTIVE", "ncores": 1, "t_submit": 1700000000000, )"
                             R"("t_start": 1700000000000, "t_finish": 1700000001000})";
  const std::string text = R"({"path": "/1", "id": 1, "is_instance": true, )" + common + "\n" +
                           R"({"path": "/1/2", "id": 2, )" + common + "\n" +
                           R"({"path": "/2", "id": 2, )" + common + "\n";
  EXPECT_EQ(jobs_in(text), "2 0 1 0 1  \n3 0 1 0 1  \n");
}

// ---- sacct

const char* const kSacct =
    "JobID|User|Account|Partition|QOS|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|ReqMem|State\n"
    "41|ann|physics|batch|normal|2026-01-31T23:59:58|2026-02-01T00:00:03|2026-02-01T01:00:03|"
    "01:00:00|1-00:00:00|64|4G|COMPLETED\n"
    "41.batch||physics|||2026-02-01T00:00:03|2026-02-01T00:00:03|2026-02-01T01:00:03|01:00:00||64||"
    "COMPLETED\n"
    "41.0||physics|||2026-02-01T00:00:03|2026-02-01T00:00:03|2026-02-01T01:00:03|01:00:00||64||"
    "COMPLETED\n"
    "42_3|bob|bio|debug,batch|normal|2026-02-01T00:00:00|2026-02-01T00:00:10|2026-02-01T00:05:10|"
    "05:00|UNLIMITED|1|1G|CANCELLED by 1000\n"
    "42_4|bob|bio|debug|normal|2026-02-01T00:00:00|2026-02-01T00:00:10|2026-02-01T00:00:15|"
    "00:05.500|Partition_Limit|1|1G|FAILED\n"
    "42_[5-9%2]|bob|bio|debug|normal|2026-02-01T00:00:00|Unknown|Unknown|00:00:00|10:00|1|1G|"
    "PENDING\n"
    "43|ann|physics|batch|normal|2026-02-01T00:00:00|2026-02-01T00:09:00|2026-02-01T00:09:00|"
    "00:00:00|10:00|0|1G|CANCELLED by 7\n"
    "44|ann|physics|batch|normal|2026-02-01T00:01:00|2026-02-01T00:01:00|2026-02-01T00:11:30|"
    "00:10:30|00:10:00|2|1G|TIMEOUT\n";

TEST(Sacct, IsRead) {
  const auto trace = read_trace(kSacct, {});
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(jobs_of(*trace),
            "41 0 64 86400 3600 ann batch\n"
            "45 2 1 0 300 bob debug\n"
            "46 2 1 0 5.5 bob debug\n"
            "44 62 2 600 600 ann batch\n");
  EXPECT_EQ(trace->workload.jobs.at(0).account, "physics");
  EXPECT_EQ(trace->workload.jobs.at(0).qos, "normal");
  EXPECT_EQ(issues_of(*trace),
            "7:89 State: job 42_[5-9%2] is not over\n"
            "8:109 State: job 43 was cancelled before it ran\n");
}

TEST(Sacct, TakesNumbersWhereTheyAreAskedForAndNamesInAnyCase) {
  EXPECT_EQ(jobs_in("jobid|jobidraw|submit|start|elapsedraw|timelimitraw|alloctres|\n"
                    "12_3|17|1769904000|1769904010|20|5|billing=4,cpu=4,mem=8G,node=1|\n"),
            "17 0 4 300 20  \n");
  EXPECT_EQ(jobs_in("JobID|Submit|Start|End|NCPUS\n"
                    "12|2026-02-01T00:00:00|2026-02-01T00:00:10|2026-02-02T00:00:10|8\n"),
            "12 0 8 0 86400  \n");
}

TEST(Sacct, NamesLineAndColumnOfWhatIsWrong) {
  const std::string head = "JobID|Submit|Start|Elapsed|Timelimit|NCPUS|State\n";
  const std::string good = "1|2026-02-01T00:00:00|2026-02-01T00:00:10|00:10|10:00|8|COMPLETED\n";
  for (const auto& [row, says] : std::vector<std::pair<std::string, std::string>>{
           {"2|yesterday|2026-02-01T00:00:10|00:10|10:00|8|COMPLETED",
            "3:3 Submit: 'yesterday' is not a time, such as 2026-01-31T23:59:58\n"},
           {"2|2026-02-01T00:00:00|2026-02-31T00:00:10|00:10|10:00|8|COMPLETED",
            "3:23 Start: '2026-02-31T00:00:10' is not a time, such as 2026-01-31T23:59:58\n"},
           {"2|2026-02-01T00:00:00|2026-02-01T00:00:10|10 s|10:00|8|COMPLETED",
            "3:43 Elapsed: '10 s' is not a length, such as 1-00:00:00\n"},
           {"2|2026-02-01T00:00:00|2026-02-01T00:00:10|00:10|soon|8|COMPLETED",
            "3:49 Timelimit: 'soon' is not a length, such as 1-00:00:00\n"},
           {"2|2026-02-01T00:00:00|2026-02-01T00:00:10|00:10|10:00||COMPLETED",
            "3:43 Elapsed: its processors are not known\n"},
           {"2|a|b|2026-02-01T00:00:00|2026-02-01T00:00:10|00:10|10:00|8|COMPLETED",
            "3:0 line: 9 columns, and the first line names 7; a name with | in it has to be left "
            "out of sacct -o\n"}}) {
    const auto trace = read_trace(head + good + row + "\n", {});
    ASSERT_TRUE(trace);
    EXPECT_EQ(issues_of(*trace), says);
    EXPECT_EQ(trace->workload.jobs.size(), 1u);
    const auto strict = read_trace(head + good + row + "\n", {.strict = true});
    ASSERT_FALSE(strict);
    EXPECT_THAT(strict.error().where, HasSubstr("line 3"));
  }
}

TEST(Sacct, ATableThatCannotBeReadSaysWhatToGiveSacct) {
  EXPECT_THAT(
      jobs_in("JobID    JobName  Partition\n------ -------\n1 x y\n"),
      HasSubstr("line 1, column 1: the columns of sacct have no | between them: give it -P"));
  EXPECT_THAT(jobs_in("1|2026-02-01T00:00:00|2026-02-01T00:00:10|00:10|8|COMPLETED\n"),
              HasSubstr("this line names no column JobID: sacct without -n writes one that does"));
  EXPECT_THAT(jobs_in("JobID|Submit|Elapsed|NCPUS\n"), HasSubstr("no column Start: sacct -P -o"));
  EXPECT_THAT(jobs_in("JobID|Submit|Start|NCPUS\n"), HasSubstr("neither a column Elapsed nor End"));
  EXPECT_THAT(jobs_in("JobID|Submit|Start|Elapsed\n"), HasSubstr("no column NCPUS, AllocCPUS"));
}

TEST(Sacct, LengthsAndTimes) {
  for (const auto& [text, ms] : std::vector<std::pair<std::string, std::optional<Duration>>>{
           {"1-02:03:04", 93'784'000},
           {"02:03:04", 7'384'000},
           {"03:04", 184'000},
           {"00:05.500", 5'500},
           {"5", std::nullopt},
           {"1-02:03", std::nullopt},
           {"00:60", std::nullopt},
           {"-1:00", std::nullopt},
           {"", std::nullopt},
           {"1-", std::nullopt},
           {":", std::nullopt},
           {"99999999999999-00:00:00", std::nullopt}})
    EXPECT_EQ(parse_sacct_length(text), ms) << text;
  EXPECT_EQ(parse_sacct_time("1970-01-02T00:00:01"), 86'401'000);
  for (const char* wrong : {"Unknown", "1970-13-01T00:00:00", "1970-01-01 00:00:00", "1970-01-01"})
    EXPECT_EQ(parse_sacct_time(wrong), std::nullopt) << wrong;
}

// ---- round trips

struct MadeUp {
  std::vector<SwfJob> jobs;
  std::string history;
};

MadeUp made_up(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  MadeUp made;
  Time submit = 1'700'000'000'000 + pick(0, 5'000);
  made.history = "{\n  \"jobs\": [";
  for (std::int64_t id = 1; id <= 40; ++id) {
    submit += pick(0, 3) == 0 ? 0 : pick(1, 20'000);
    SwfJob job;
    job.id = id;
    job.submit = submit;
    job.procs = pick(1, 16);
    job.wait = pick(0, 100'000);
    job.run = pick(0, 5) == 0 ? pick(0, 400) : pick(1, 90'000);
    job.limit = pick(0, 4) == 0 ? 0 : job.run + pick(1, 60'000);
    job.status = static_cast<int>(pick(0, 1));
    job.user = std::string(1, static_cast<char>('a' + pick(0, 3))) + " of ours";
    job.group = pick(0, 1) == 0 ? "" : "staff";
    job.queue = pick(0, 1) == 0 ? "night" : "day";
    made.history += (id == 1 ? "" : ",") + std::string("\n    {\"path\": \"/") +
                    std::to_string(id) + "\", \"id\": " + std::to_string(id) + ", \"user\": \"" +
                    job.user + "\", \"group\": \"" + job.group + "\", \"queue\": \"" + job.queue +
                    "\", \"state\": \"INACTIVE\", \"ncores\": " + std::to_string(job.procs) +
                    ", \"limit\": " + std::to_string(job.limit) +
                    ", \"t_submit\": " + std::to_string(job.submit) +
                    ", \"t_start\": " + std::to_string(job.submit + job.wait) +
                    ", \"t_finish\": " + std::to_string(job.submit + job.wait + job.run) + "}";
    made.jobs.push_back(job);
  }
  made.history += "\n  ],\n  \"cores\": 32\n}\n";
  return made;
}

// What history writes as SWF is read as the jobs that its JSON is read as, which start when those
// do under any policy.
TEST(RoundTrip, OfHistoryAndSwfAreTheSameJobsAtTheSameTimes) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const MadeUp made = made_up(seed);
    const auto from_json = read_trace(made.history, {});
    const auto from_swf = read_trace(swf_text(made.jobs, {"here", "a note", 32, 2}), {});
    ASSERT_TRUE(from_json && from_swf) << seed;
    ASSERT_EQ(issues_of(*from_json) + issues_of(*from_swf), "") << seed;
    ASSERT_EQ(jobs_of(*from_json), jobs_of(*from_swf)) << seed;
    ASSERT_EQ(from_json->workload.jobs.size(), made.jobs.size());
    EXPECT_EQ(from_json->workload.max_procs, from_swf->workload.max_procs);
    for (std::size_t i = 0; i < made.jobs.size(); ++i)
      EXPECT_EQ(from_swf->workload.jobs[i].group, from_json->workload.jobs[i].group);
    for (const Order order : {Order::batch, Order::event})
      ASSERT_EQ(starts_csv(from_json->workload, simulated_on(from_json->workload, 32, order)),
                starts_csv(from_swf->workload, simulated_on(from_swf->workload, 32, order)))
          << seed;
  }
}

TEST(RoundTrip, SurvivesRubbishInEachFormat) {
  const std::vector<std::string> texts = {kHistory, kSacct, swf_text(made_up(1).jobs, {})};
  std::mt19937 random(7);
  for (int round = 0; round < 600; ++round) {
    std::string text = texts[random() % texts.size()];
    for (int change = 0; change < 3; ++change) {
      const auto at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = static_cast<char>(random() % 256);
      else
        text.erase(at, random() % 30);
    }
    const auto trace = read_trace(text, {.procs = 32});
    if (!trace) {
      EXPECT_THAT(trace.error().where, HasSubstr("line "));
      continue;
    }
    for (const TraceJob& job : trace->workload.jobs)
      ASSERT_TRUE(job.procs > 0 && job.procs <= 32 && job.run >= 0 && job.submit >= 0 &&
                  job.limit >= 0);
  }
}

}  // namespace
}  // namespace holon::sim
