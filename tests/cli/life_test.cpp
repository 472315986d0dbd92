// holon update, suspend, resume, watch, history; --progress; provision --dry-run; what shells
// complete.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/job_tracker.hpp"
#include "cli/show/csv.hpp"
#include "cli/show/progress.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Update, SaysWhatIsToBeAnotherThing) {
  FakeBroker broker;
  broker.answer("job.update", msg::Empty{});
  broker.start();
  EXPECT_EQ(run_cli({"update", "3-5", "/3/8"}).code, kUsage);
  EXPECT_EQ(run_cli({"update", "3-5", "8", "-t", "2h", "-n", "8", "-N", "2", "-q", "night", "-J",
                     "fit", "--urgency", "hold"})
                .code,
            kOk);
  auto asked = broker.last<msg::UpdateRequest>("job.update");
  EXPECT_THAT(asked.ids, ElementsAre(3, 4, 5, 8));
  EXPECT_EQ(asked.limit, 7'200'000);
  EXPECT_EQ(asked.extend, 0);
  EXPECT_EQ(asked.slots, 8);
  EXPECT_EQ(asked.nodes, 2);
  EXPECT_EQ(asked.queue, "night");
  EXPECT_EQ(asked.name, "fit");
  EXPECT_EQ(asked.urgency, 0);
  EXPECT_EQ(run_cli({"update", "7", "-t", "+10m"}).code, kOk);
  EXPECT_EQ(broker.last<msg::UpdateRequest>("job.update").extend, 600'000);
  for (const std::vector<std::string>& less :
       {std::vector<std::string>{"-t", "-5m"}, {"--time-limit=-5m"}, {"-t-5m"}}) {
    std::vector<std::string> words = {"update", "7"};
    words.insert(words.end(), less.begin(), less.end());
    EXPECT_EQ(run_cli(words).code, kOk) << less.front();
    asked = broker.last<msg::UpdateRequest>("job.update");
    EXPECT_EQ(asked.extend, -300'000);
    EXPECT_EQ(asked.limit, -1);
    EXPECT_EQ(asked.urgency, -1);
  }
  EXPECT_EQ(run_cli({"update", "7", "-t", "inf"}).code, kOk);
  EXPECT_EQ(broker.last<msg::UpdateRequest>("job.update").limit, 0);
}

TEST(Update, SaysHowElasticAnInstanceIsToBe) {
  FakeBroker broker;
  broker.answer("job.update", msg::Empty{});
  broker.start();
  struct {
    const char* word;
    std::int64_t most, least;
  } const all[] = {{"8", 8, 0}, {"2-8", 8, 2}, {"off", 0, 0}};
  for (const auto& one : all) {
    EXPECT_EQ(run_cli({"update", "3", "--elastic", one.word}).code, kOk) << one.word;
    const auto asked = broker.last<msg::UpdateRequest>("job.update");
    EXPECT_EQ(asked.elastic, one.most) << one.word;
    EXPECT_EQ(asked.elastic_least, one.least) << one.word;
  }
  EXPECT_EQ(run_cli({"update", "3", "-t", "1h"}).code, kOk);
  EXPECT_EQ(broker.last<msg::UpdateRequest>("job.update").elastic, -1);
}

TEST(Update, OfNothingOrNobodyIsRefused) {
  EXPECT_THAT(run_cli({"update", "7"}).err, HasSubstr("nothing is to be changed"));
  EXPECT_THAT(run_cli({"update", "-t", "1h"}).err, HasSubstr("name at least one job"));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"-t", "+0"},
                                                {"-t", "soon"},
                                                {"-n", "0"},
                                                {"-N", "-1"},
                                                {"--elastic", "8-2"},
                                                {"--elastic", "0"},
                                                {"--urgency", "32"}}) {
    std::vector<std::string> words = {"update", "7"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(run_cli(words).code, kUsage) << wrong.back();
  }
}

TEST(Suspend, AndResumeNameJobs) {
  FakeBroker broker;
  broker.answer("job.suspend", msg::Empty{});
  broker.start();
  EXPECT_EQ(run_cli({"suspend", "3-4"}).code, kOk);
  EXPECT_TRUE(broker.last<msg::SuspendRequest>("job.suspend").suspend);
  EXPECT_THAT(broker.last<msg::SuspendRequest>("job.suspend").ids, ElementsAre(3, 4));
  EXPECT_EQ(run_cli({"resume", "3"}).code, kOk);
  EXPECT_FALSE(broker.last<msg::SuspendRequest>("job.suspend").suspend);
  EXPECT_EQ(run_cli({"suspend"}).code, kUsage);
}

TEST(ProgressLine, HasABarWhereThereIsRoom) {
  const ProgressCounts half{.waiting = 492, .running = 8, .ended = 500, .failed = 3};
  EXPECT_EQ(progress_line(half, 12.5, 0),
            "50%  500 of 1000 ended, 8 running, 492 waiting, 3 failed; 12/s, 40.0s left");
  const std::string wide = progress_line(half, std::nullopt, 120);
  EXPECT_THAT(wide, testing::StartsWith("[###############...............]  50%  500 of"));
  for (int width = 1; width < 130; ++width)
    EXPECT_LT(progress_line(half, 12.5, width).size(), static_cast<std::size_t>(width) + 1);
  EXPECT_EQ(progress_line({}, std::nullopt, 0), "nothing runs or waits");
}

// What a terminal that has become narrower has put into several lines is below the cursor then.
TEST(ProgressLine, FitsATerminalThatBecomesNarrower) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  const auto drawn_at = [terminal](unsigned short columns, ProgressLine& progress,
                                   std::ostringstream& out) {
    out.str("");
    const winsize size{24, columns, 0, 0};
    EXPECT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
    progress.show({.waiting = 1, .running = 1, .ended = 2}, 0);
    return out.str();
  };
  std::ostringstream out, err;
  Io io{out, err};
  io.terminal = true;
  io.width = 100;
  const char* const wish = std::getenv("COLUMNS");
  const std::string columns = wish != nullptr ? wish : "";
  unsetenv("COLUMNS");
  ProgressLine progress(io, out, terminal);
  const std::string wide = drawn_at(100, progress, out), narrow = drawn_at(24, progress, out);
  if (wish != nullptr) setenv("COLUMNS", columns.c_str(), 1);
  close(terminal);
  EXPECT_THAT(wide, HasSubstr("1 running, 1 waiting"));
  EXPECT_TRUE(wide.ends_with("\r")) << "the cursor stays at the beginning";
  EXPECT_EQ(narrow, "\r\x1b[J 50%  2 of 4 ended, 1 r\r");
}

TEST(SimulationLine, IsNoWiderThanTheTerminal) {
  EXPECT_EQ(simulation_line(500, 1000, 80), "[###############               ] 500 of 1000 jobs");
  for (int width = 1; width < 80; ++width)
    EXPECT_LT(simulation_line(500, 1000, width).size(), static_cast<std::size_t>(width)) << width;
  EXPECT_EQ(simulation_line(0, 0, 20), "0 of 0 jobs");
}

TEST(ProgressLine, IsDrawnOverItselfOnlyWhereTheTerminalCan) {
  const auto drawn = [](bool dumb, bool to_error) {
    std::ostringstream out, err;
    Io io{out, err};
    io.terminal = io.err_terminal = true;
    io.dumb = dumb;
    ProgressLine progress(io, to_error ? err : out);
    progress.show({.waiting = 1}, 0);
    progress.end({.ended = 1}, 1);
    return out.str() + err.str();
  };
  for (const bool to_error : {false, true}) {
    EXPECT_THAT(drawn(false, to_error), HasSubstr("\r\x1b[J"));
    EXPECT_EQ(drawn(true, to_error), "0%  0 of 1 ended, 1 waiting\n100%  1 of 1 ended\n");
  }
}

TEST(Terminal, IsDumbWhereTermSaysSoOrNothing) {
  const char* const set = std::getenv("TERM");
  const std::string before = set != nullptr ? set : "";
  setenv("TERM", "dumb", 1);
  EXPECT_TRUE(standard_io().dumb);
  setenv("TERM", "xterm", 1);
  EXPECT_FALSE(standard_io().dumb);
  unsetenv("TERM");
  EXPECT_TRUE(standard_io().dumb);
  if (set != nullptr) setenv("TERM", before.c_str(), 1);
}

TEST(EndRate, IsOfTheLastHalfMinute) {
  EndRate rate;
  EXPECT_EQ(rate.per_second(), std::nullopt);
  rate.look(0, 0);
  rate.look(10'000, 100);
  EXPECT_DOUBLE_EQ(rate.per_second().value(), 10);
  for (Time t = 20'000; t <= 100'000; t += 1'000) rate.look(t, 100 + (t - 20'000) / 1'000);
  EXPECT_NEAR(rate.per_second().value(), 1, 0.1);
}

msg::JobEvent event(std::uint64_t id, std::string name, std::string context = "{}") {
  return {id, 0, std::move(name), std::move(context)};
}

TEST(JobTracker, CountsByEventsAndNamesFailures) {
  JobTracker tracker({1, 2, 3, 4});
  std::vector<std::string> failures;
  tracker.on_failure = [&](const FailedJob& job) {
    failures.push_back("job " + (job.label.empty() ? std::to_string(job.id) : job.label) + ": " +
                       job.why);
  };
  EXPECT_FALSE(tracker.take(event(9, "start"))) << "it is nobody's";
  for (const std::uint64_t id : {1, 2, 3}) tracker.take(event(id, "start"));
  EXPECT_EQ(tracker.counts(), (ProgressCounts{1, 3, 0, 0}));
  tracker.take(event(1, "finish", R"({"status":0})"));
  tracker.take(event(1, "clean"));
  tracker.take(event(2, "finish", R"({"status":768})"));
  tracker.take(event(2, "requeue"));
  EXPECT_EQ(tracker.counts(), (ProgressCounts{2, 1, 1, 0}));
  tracker.take(event(2, "start"));
  tracker.take(event(2, "finish", R"({"status":768})"));
  tracker.take(event(2, "clean"));
  tracker.take(event(3, "exception", R"({"type":"timeout","severity":0,"note":"too long"})"));
  tracker.take(event(3, "finish", R"({"status":15})"));
  tracker.take(event(3, "clean"));
  EXPECT_FALSE(tracker.take(event(3, "clean"))) << "it is over";
  tracker.take(event(4, "invalidate", R"({"note":"too large"})"));
  EXPECT_TRUE(tracker.all_over());
  EXPECT_EQ(tracker.counts(), (ProgressCounts{0, 0, 4, 3}));
  EXPECT_THAT(failures,
              ElementsAre("job 2: exit code 3", "job 3: too long", "job 4: refused: too large"));
}

TEST(JobTracker, CountsTheTasksOfArraysByTheirRecords) {
  JobTracker tracker({1, 2, 9});
  std::vector<std::string> failures;
  tracker.on_failure = [&](const FailedJob& job) {
    failures.push_back("job " + (job.label.empty() ? std::to_string(job.id) : job.label) + ": " +
                       job.why);
  };
  EXPECT_EQ(tracker.counts(), (ProgressCounts{3, 0, 0, 0})) << "what they are is not known yet";
  msg::JobRecord array, task;
  array.id = array.array = 1;
  array.state = "RUN";
  array.tasks = array.tasks_pending = 100;
  task.id = 9;
  task.array = 7;
  task.index = 1;
  task.state = "SCHED";
  tracker.take(array);
  tracker.take(task);
  EXPECT_EQ(tracker.counts(), (ProgressCounts{102, 0, 0, 0}));
  EXPECT_EQ(tracker.known_by_records(), (std::vector<std::uint64_t>{1, 9}));
  EXPECT_FALSE(tracker.take(event(1, "start"))) << "its records say it";
  array.tasks_pending = 60;
  array.tasks_running = 4;
  array.tasks_completed = 35;
  array.tasks_failed = 1;
  tracker.take(array);
  EXPECT_EQ(tracker.counts(), (ProgressCounts{62, 4, 36, 1}));
  array.state = task.state = "INACTIVE";
  array.tasks_pending = array.tasks_running = 0;
  array.tasks_completed = 97;
  array.tasks_failed = 2;
  array.tasks_cancelled = 1;
  task.result = "FAILED";
  task.exit_code = 3;
  tracker.take(array);
  tracker.take(task);
  EXPECT_TRUE(tracker.known_by_records().empty());
  EXPECT_FALSE(tracker.all_over());
  tracker.take(event(2, "start"));
  tracker.take(event(2, "clean"));
  EXPECT_TRUE(tracker.all_over());
  EXPECT_EQ(tracker.counts(), (ProgressCounts{0, 0, 102, 4}));
  EXPECT_THAT(failures,
              ElementsAre("job 1: 1 of 100 tasks failed",
                          "job 1: 2 of 100 tasks failed, 1 cancelled", "job 7.1: exit code 3"));
}

msg::EventsPart part_of_events(std::vector<msg::JobEvent> events, std::string cursor) {
  msg::EventsPart part;
  part.events = std::move(events);
  part.cursor = std::move(cursor);
  return part;
}

TEST(SubmitProgress, FollowsItsJobsFromBeforeTheyWere) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 2});
  broker.handle("events", [](const transport::Request& request) {
    const auto ask = *transport::unpack<msg::EventsRequest>(request.payload());
    EXPECT_TRUE(ask.bare);
    if (ask.cursor.empty()) {
      msg::EventsPart first = part_of_events({}, "a.1.0");
      first.anew = true;
      return request.send(transport::pack(first));
    }
    EXPECT_EQ(ask.cursor, "a.1.0");
    request.send(transport::pack(part_of_events(
        {event(5, "start"), event(4, "clean"), event(5, "clean"), event(6, "start")}, "a.2.0")));
    request.send(transport::pack(
        part_of_events({event(6, "finish", R"({"status":256})"), event(6, "clean")}, "a.3.0")));
  });
  broker.start();
  const Ran ran = run_cli({"submit", "--count", "2", "--progress", "false"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "5\n6\n");
  EXPECT_THAT(ran.err, HasSubstr("job 6: exit code 1\n"));
  EXPECT_THAT(ran.err, HasSubstr("100%  2 of 2 ended, 1 failed\n"));
}

// Whoever reads "NAME ID" takes a second line for another task.
TEST(SubmitFile, ANameIsOneLineOfTextForATerminal) {
  FakeBroker broker;
  broker.answer("submit.graph", msg::GraphReply{{5}});
  broker.start();
  const std::string file = testing::TempDir() + "holon-names-" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << R"([[task]]
name = "a\u001b[31m\n7 8"
command = ["x"]
)";
  EXPECT_EQ(run_cli({"submit", "--file", file}).out, "a?[31m?7 8 5\n");
  std::filesystem::remove(file);
}

TEST(SubmitProgress, OfAFileCountsAllItsJobsAndTheTasksOfItsArrays) {
  FakeBroker broker;
  broker.answer("submit.graph", msg::GraphReply{{5, 6, 7}});
  std::vector<msg::JobRecord> jobs(3);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = 5 + i;
    jobs[i].path = "/" + std::to_string(5 + i);
    jobs[i].state = "SCHED";
  }
  msg::JobRecord& array = jobs.back();
  array.array = array.id;
  array.tasks = array.tasks_pending = 3;
  broker.answer("jobs", msg::JobsReply{jobs, ""});
  broker.handle("events", [array](const transport::Request& request) mutable {
    const auto ask = *transport::unpack<msg::EventsRequest>(request.payload());
    if (ask.cursor.empty()) return request.send(transport::pack(part_of_events({}, "a.1.0")));
    EXPECT_EQ(ask.cursor, "a.1.0") << "of before the submission";
    EXPECT_THAT(ask.arrays, ElementsAre(7U));
    msg::EventsPart part = part_of_events({event(5, "clean")}, "a.2.0");
    array.state = "INACTIVE";
    array.tasks_pending = 0;
    array.tasks_completed = 2;
    array.tasks_failed = 1;
    part.jobs = {array};
    request.send(transport::pack(part));
    request.send(transport::pack(part_of_events({event(6, "clean")}, "a.3.0")));
  });
  broker.start();
  const std::string file = testing::TempDir() + "holon-progress.json";
  std::ofstream(file) << R"({"task": [{"name": "a", "command": ["true"]},
    {"name": "b", "command": ["true"], "afterok": "a"},
    {"name": "c", "command": ["true"], "array": "1-3", "afterok": "b"}]})";
  const Ran ran = run_cli({"submit", "--file", file, "--progress"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "a 5\nb 6\nc 7\n");
  EXPECT_THAT(ran.err, HasSubstr("100%  5 of 5 ended, 1 failed\n"));
  std::remove(file.c_str());
}

TEST(Watch, OfAllGoesByTheInstancesOwnCounts) {
  FakeBroker broker;
  broker.handle("events", [](const transport::Request& request) {
    const auto ask = *transport::unpack<msg::EventsRequest>(request.payload());
    EXPECT_TRUE(ask.bare && ask.node);
    const auto say = [&](std::int64_t pending, std::int64_t running, std::int64_t over,
                         std::int64_t failed, std::vector<msg::JobEvent> events) {
      msg::EventsPart part = part_of_events(std::move(events), "a.1.0");
      msg::TreeNode node;
      node.pending = pending;
      node.running = running;
      node.inactive = over;
      node.failed = failed;
      part.node.push_back(node);
      request.send(transport::pack(part));
    };
    say(2, 1, 100, 7, {});
    say(0, 1, 102, 8,
        {event(3, "start"), event(3, "exception", R"({"type":"cancel","severity":0,"note":""})"),
         event(3, "clean")});
    say(0, 0, 103, 8, {});
  });
  broker.start();
  const Ran ran = run_cli({"watch"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, "") << "what was asked for is on standard output, for a file or a pipe";
  EXPECT_THAT(ran.out, HasSubstr("job 3: cancel\n"));
  EXPECT_THAT(ran.out, testing::EndsWith("100%  3 of 3 ended, 1 failed\n"));
}

// Events know numbers alone, and that of a task of an array says nothing to anybody.
TEST(Watch, OfAllNamesATaskThatFailedAsItIsTyped) {
  FakeBroker broker;
  msg::JobRecord task;
  task.id = 3;
  task.array = 1;
  task.index = 2;
  broker.answer("jobs", msg::JobsReply{{task}, ""});
  broker.handle("events", [](const transport::Request& request) {
    msg::EventsPart part = part_of_events(
        {event(3, "start"), event(3, "finish", R"({"status":768})"), event(3, "clean")}, "a.1.0");
    part.node.emplace_back();
    request.send(transport::pack(part));
  });
  broker.start();
  EXPECT_THAT(run_cli({"watch"}).out, HasSubstr("job 1.2: exit code 3\n"));
}

msg::JobRecord ended(std::uint64_t id, const std::string& user, const std::string& result) {
  msg::JobRecord job;
  job.id = id;
  job.path = "/" + std::to_string(id);
  job.name = "a,\"b\"";
  job.user = user;
  job.state = "INACTIVE";
  job.result = result;
  job.exit_code = result == "COMPLETED" ? 0 : 3;
  job.ncores = 2;
  job.t_submit = 1'000;
  job.t_start = 3'500;
  job.t_finish = job.t_inactive = 13'500;
  job.cpu_ms = 15'000;
  job.max_rss_kb = 2'048;
  return job;
}

TEST(ProvisionDryRun, SaysWhyNoJobWaitsThatIsTooLarge) {
  for (const bool has_one : {false, true}) {
    FakeBroker broker;
    broker.answer("provision.add", msg::ProvisionReply{});
    msg::ProvisionsReply known;
    if (has_one) known.provisions.emplace_back();
    broker.answer("provision.list", known);
    broker.start();
    const std::string told = run_cli({"provision", "slurm", "--dry-run"}).out;
    EXPECT_THAT(told, HasSubstr("nothing: no waiting job would start on its nodes now\n"));
    EXPECT_EQ(told.find("is refused when it is submitted") == told.npos, has_one) << told;
  }
}

TEST(History, AsksForWhatIsOver) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{{ended(1, "ann", "COMPLETED")}, ""});
  broker.start();
  const Ran ran = run_cli({"history", "--since", "-2h", "--until", "-1h", "--user", "ann", "--name",
                           "a*", "--format", "id,state,wait,time,cpu,use,memory"});
  EXPECT_EQ(ran.out,
            "ID  STATE       WAIT   TIME    CPU  USE  MEMORY\n"
            " 1  COMPLETED  2.50s  10.0s  15.0s  75%   2 MiB\n");
  const auto asked = broker.last<msg::JobsRequest>("jobs");
  EXPECT_TRUE(asked.all);
  EXPECT_THAT(asked.filter.states, ElementsAre("INACTIVE"));
  EXPECT_EQ(asked.filter.user, "ann");
  EXPECT_LT(asked.filter.since, asked.filter.until);
  run_cli({"history", "--filter", "failed,timeout"});
  EXPECT_THAT(broker.last<msg::JobsRequest>("jobs").filter.states,
              ElementsAre("FAILED", "TIMEOUT"));
  EXPECT_THAT(run_cli({"history", "--filter", "running"}).err, HasSubstr("is no result"));
}

TEST(History, ShortensALongNameUnlessItIsAskedFor) {
  FakeBroker broker;
  auto job = ended(1, "ann", "COMPLETED");
  job.name = "a-name-that-is-longer-than-a-table";
  broker.answer("jobs", msg::JobsReply{{job}, ""});
  broker.start();
  EXPECT_THAT(run_cli({"history"}).out, HasSubstr("a-name-that-is-lo...  "));
  EXPECT_THAT(run_cli({"history", "--format", "name,id"}).out, HasSubstr(job.name + " "));
}

TEST(History, AsCsvIsReadBySpreadsheets) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{{ended(1, "=ann", "FAILED")}, ""});
  broker.start();
  EXPECT_EQ(run_cli({"history", "--csv"}).out,
            csv_titles() +
                "/1,\"a,\"\"b\"\"\",'=ann,,,FAILED,3,0,2,0,0,1.000,3.500,13.500,2.500,10.000,"
                "15.000,2048,0,0,,,,\r\n");
}

// Whoever adds up the rows has everything once.
TEST(History, AsCsvWithTasksHasThemInPlaceOfTheirArray) {
  FakeBroker broker;
  auto array = ended(1, "ann", "COMPLETED");
  array.array = 1;
  array.tasks = 2;
  auto first = ended(2, "ann", "COMPLETED"), second = ended(3, "ann", "COMPLETED");
  first.array = second.array = 1;
  first.index = 0, second.index = 1;
  broker.answer("jobs", msg::JobsReply{{array, first, second, ended(4, "bob", "COMPLETED")}, ""});
  broker.start();
  const auto rows_of = [](const std::string& text) {
    std::string paths;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      paths += line.substr(0, line.find(',')) + " ";
    return paths;
  };
  EXPECT_EQ(rows_of(run_cli({"history", "--csv", "--tasks"}).out), "path /1.0 /1.1 /4 ");
  EXPECT_THAT(run_cli({"history", "--csv"}).out, HasSubstr("/1,"));
  EXPECT_THAT(run_cli({"history", "--tasks", "--format", "id"}).out, HasSubstr("1\n"));
}

TEST(History, IsAddedUpOverAllPages) {
  FakeBroker broker;
  broker.handle("jobs", [](const transport::Request& request) {
    const auto ask = *transport::unpack<msg::JobsRequest>(request.payload());
    EXPECT_EQ(ask.by, "user");
    msg::JobsReply page;
    msg::Usage ann;
    ann.key = "ann";
    ann.jobs = ann.started = 2;
    ann.completed = ann.failed = 1;
    ann.wait_ms = 5'000;
    ann.run_ms = 20'000;
    ann.core_ms = 40'000;
    ann.cpu_ms = 30'000;
    ann.max_rss_kb = ask.after.empty() ? 1'024 : 512;
    page.usage = {ann};
    page.next = ask.after.empty() ? "more" : "";
    request.reply(transport::pack(page));
  });
  broker.start();
  EXPECT_EQ(run_cli({"history", "--by", "user"}).out,
            "USER  JOBS  COMPLETED  FAILED   WAIT    RUN  CORE-TIME  CPU-TIME  USE  MEMORY\n"
            "ann      4          2       2  2.50s  10.0s      1m20s     1m00s  75%   1 MiB\n");
  EXPECT_THAT(run_cli({"history", "--by", "user", "--csv"}).out,
              HasSubstr("ann,4,2,2,0,0,0,4,10.000,40.000,80.000,60.000,1024,0,0\r\n"));
  const auto told = nlohmann::json::parse(run_cli({"history", "--by", "user", "--json"}).out);
  EXPECT_EQ(told["usage"][0]["core_ms"], 80'000);
  EXPECT_THAT(run_cli({"history", "--by", "size"}).err,
              HasSubstr("'size' is not accepted; user, name, queue"));
}

TEST(JobStatus, IsTheHighestOfTheJobs) {
  FakeBroker broker;
  broker.answer("job.wait", msg::WaitReply{{ended(1, "a", "COMPLETED"), ended(2, "a", "FAILED")}});
  broker.start();
  const Ran ran = run_cli({"job", "status", "1-2", "-v"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, "1 0\n2 3\n");
}

// What bash offers for these words, the last of which is being typed.
std::vector<std::string> offered(const std::string& script, const std::string& words) {
  const std::string file = ::testing::TempDir() + "holon-completion.bash";
  std::ofstream(file) << script;
  const std::string command = "bash -c 'source " + file + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _holon; "
                              "printf \"%s\\n\" \"${COMPREPLY[@]}\"' 2>&1";
  std::vector<std::string> lines;
  FILE* out = popen(command.c_str(), "r");
  char line[256];
  while (out != nullptr && fgets(line, sizeof line, out) != nullptr) {
    lines.emplace_back(line);
    lines.back().pop_back();
  }
  if (out != nullptr) pclose(out);
  std::filesystem::remove(file);
  return lines;
}

TEST(Completion, OfBashKnowsVerbsAndTheirOptions) {
  const Ran ran = run_cli({"completion", "bash"});
  ASSERT_EQ(ran.code, kOk);
  EXPECT_THAT(offered(ran.out, "holon sus"), ElementsAre("suspend"));
  EXPECT_THAT(offered(ran.out, "holon -i /3 hist"), ElementsAre("history"));
  EXPECT_THAT(offered(ran.out, "holon job at"), ElementsAre("attach"));
  EXPECT_THAT(offered(ran.out, "holon submit --progr"), ElementsAre("--progress"));
  EXPECT_THAT(offered(ran.out, "holon job wait --qui"), ElementsAre("--quiet"));
  EXPECT_THAT(offered(ran.out, "holon update --time"), ElementsAre("--time-limit"));
  EXPECT_THAT(offered(ran.out, "holon brok"), ElementsAre("")) << "nobody types that";
}

TEST(Completion, IsThereForEachShellAndHasAllVerbs) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = run_cli({"completion", shell});
    EXPECT_EQ(ran.code, kOk);
    for (const char* word : {"submit", "history", "suspend", "eventlog"})
      EXPECT_THAT(ran.out, HasSubstr(word)) << shell;
    EXPECT_THAT(ran.out, Not(HasSubstr("--grant"))) << "no person types that";
  }
  EXPECT_THAT(run_cli({"completion", "csh"}).err, HasSubstr("bash, zsh and fish are"));
}

}  // namespace
}  // namespace holon::cli
