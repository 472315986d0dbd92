// Each verb against a broker of canned answers: what it asks for, what it prints, how it exits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/show/wait_notice.hpp"
#include "msg/instance.hpp"
#include "msg/resource.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

msg::JobRecord job(std::uint64_t id, const std::string& name, const std::string& state) {
  msg::JobRecord record;
  record.id = id;
  record.path = "/" + std::to_string(id);
  record.name = name;
  record.state = state;
  record.ncores = 2;
  record.t_submit = 1'000;
  return record;
}

msg::JobRecord ended(std::uint64_t id, const std::string& name, const std::string& result, int code,
                     const std::string& reason = "") {
  msg::JobRecord record = job(id, name, "INACTIVE");
  record.result = result;
  record.exit_code = code;
  record.reason = reason;
  record.t_alloc = record.t_start = 2'000;
  record.t_finish = record.t_inactive = 9'300;
  record.nodelist = "n0";
  return record;
}

TEST(Submit, PrintsOneIdALineAndSendsAJobspec) {
  FakeBroker broker;
  msg::SubmitReply reply;
  reply.first_id = 7;
  reply.count = 3;
  broker.answer("submit", reply);
  broker.start();
  const Ran ran = run_cli({"submit", "-n", "2", "-c4", "-t", "30s", "--count", "3", "--urgency=20",
                           "--name", "it", "--output", "o-{{id}}", "sleep", "-n", "1"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, "7\n8\n9\n");
  const auto request = broker.last<msg::SubmitRequest>("submit");
  EXPECT_EQ(request.count, 3u);
  EXPECT_EQ(request.urgency, 20u);
  EXPECT_FALSE(request.is_instance);
  EXPECT_NE(request.user, "");
  const json spec = json::parse(request.jobspec);
  EXPECT_EQ(spec["resources"][0]["type"], "slot");
  EXPECT_EQ(spec["resources"][0]["count"], 2);
  EXPECT_EQ(spec["resources"][0]["with"][0]["count"], 4);
  EXPECT_EQ(spec["tasks"][0]["command"], json({"sleep", "-n", "1"}))
      << "options after the command are its own";
  const json& system = spec["attributes"]["system"];
  EXPECT_EQ(system["duration"], 30);
  EXPECT_EQ(system["job"]["name"], "it");
  EXPECT_THAT(system["shell"]["options"]["output"]["stdout"]["path"].get<std::string>(),
              testing::EndsWith("/o-{{id}}"));
  EXPECT_FALSE(system["environment"].contains("HOLON_URI")) << "that is the submitter's own";
}

// The jobspec that a command line is sent as.
json spec_of(std::vector<std::string> args) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{1, 1});
  broker.start();
  const Ran ran = run_cli(std::move(args));
  EXPECT_EQ(ran.code, kOk) << ran.err;
  return json::parse(broker.last<msg::SubmitRequest>("submit").jobspec);
}

TEST(Submit, NodesAloneAreATaskEach) {
  const json node = spec_of({"submit", "-N4", "true"})["resources"][0];
  EXPECT_EQ(node["type"], "node");
  EXPECT_EQ(node["count"], 4);
  EXPECT_EQ(node["with"][0]["count"], 1);
}

TEST(Submit, AnEmptyEnvironmentIsSentAsOne) {
  const json system = spec_of({"submit", "--env", "-*", "true"})["attributes"]["system"];
  EXPECT_EQ(system["environment"], json::object());
}

TEST(Submit, ALineForTheShellAndAFileToReadAreSent) {
  const json spec = spec_of({"submit", "--wrap", "--input", "in.txt", "echo a; echo b"});
  EXPECT_EQ(spec["tasks"][0]["command"], json({"/bin/sh", "-c", "echo a; echo b"}));
  const json input = spec["attributes"]["system"]["shell"]["options"]["input"]["stdin"];
  EXPECT_EQ(input["type"], "file");
  EXPECT_THAT(input["path"].get<std::string>(), testing::EndsWith("/in.txt"));
  EXPECT_EQ(spec_of({"submit", "--wrap=a; b"})["tasks"][0]["command"],
            json({"/bin/sh", "-c", "a; b"}));
}

TEST(Submit, JobsOfOneCountMayShareWhatIsNoFile) {
  spec_of({"submit", "--count", "3", "--output", "/dev/null", "true"});
  spec_of({"submit", "--count", "3", "--output", "o-{{id}}", "true"});
}

TEST(Submit, SaysWhyAJobWasRefused) {
  FakeBroker broker;
  broker.refuse("submit", {Errc::unsatisfiable, "99 cores in one slot, a node has 4", ""});
  broker.start();
  const Ran ran = run_cli({"submit", "-c", "99", "true"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, "holon submit: 99 cores in one slot, a node has 4\n");
}

// What `holon ARGS` says where the broker answers "submit" with `error`.
std::string said_of(const Error& error, std::vector<std::string> args) {
  FakeBroker broker;
  broker.refuse("submit", error);
  broker.start();
  const Ran ran = run_cli(std::move(args));
  EXPECT_NE(ran.code, kOk);
  return ran.err;
}

TEST(Submit, NamesTheOptionAsTypedRatherThanThePlaceInTheJobspec) {
  constexpr Errc kBad = Errc::invalid_argument;
  const std::string system = "/attributes/system/";
  EXPECT_EQ(
      said_of({Errc::not_found, "afterok:999: there is no job 999", system + "dependencies/1"},
              {"submit", "--dependency", "singleton", "--dependency", "afterok:999", "true"}),
      "holon submit: --dependency afterok:999: there is no job 999\n");
  EXPECT_EQ(said_of({kBad, "is no time", system + "dependencies/0/value"},
                    {"submit", "--begin-time", "+1h", "true"}),
            "holon submit: --begin-time: is no time\n");
  EXPECT_EQ(said_of({kBad, "'{{foo}}' stands for nothing", system + "shell/options/output"},
                    {"submit", "--output", "a{{foo}}", "true"}),
            "holon submit: --output a{{foo}}: '{{foo}}' stands for nothing\n");
  EXPECT_EQ(said_of({kBad, "a job that is to start at once cannot wait for others",
                     system + "holon/immediate"},
                    {"run", "--begin-time", "+1h", "--now", "y", "true"}),
            "holon run: --now y: a job that is to start at once cannot wait for others\n");
  EXPECT_EQ(
      said_of({kBad, "has 5000 bytes; at most 4096 are accepted", system + "job/name"},
              {"submit", std::string(5000, 'x')}),
      "holon submit: COMMAND: the job's name, which is the command's, has 5000 bytes; at most "
      "4096 are accepted; --name gives another\n");
  EXPECT_EQ(said_of({kBad, "unknown", "/somewhere/else"}, {"submit", "true"}),
            "holon submit: /somewhere/else: unknown\n");
}

TEST(Run, PassesOnOutputAndExitCode) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.stream<msg::OutputChunk>("job.attach",
                                  {{0, false, "one\n"}, {0, true, "oops\n"}, {0, false, "two\n"}});
  broker.answer("job.wait", msg::WaitReply{{ended(5, "sh", "FAILED", 42)}});
  broker.start();
  const Ran ran = run_cli({"run", "sh", "-c", "exit 42"});
  EXPECT_EQ(ran.out, "one\ntwo\n");
  EXPECT_EQ(ran.err, "oops\n");
  EXPECT_EQ(ran.code, 42);
}

TEST(Run, WithProgressSaysWhyItWaitsAndWhereItRuns) {
  msg::JobRecord record = job(5, "sh", "SCHED");
  record.t_start = 0;
  record.reason = "needs 8 cores, 2 are free";
  EXPECT_EQ(how_far(record, 1'000), "job 5 waits: needs 8 cores, 2 are free");
  msg::JobRecord running = job(5, "sh", "RUN");
  running.t_start = 1'000;
  running.nodelist = "n0";
  EXPECT_EQ(how_far(running, 13'000), "job 5 runs on n0, 12.0s");
  running.limit = 60'000;
  EXPECT_EQ(how_far(running, 13'000), "job 5 runs on n0, 12.0s of 1m00s");
  EXPECT_EQ(how_far(ended(5, "sh", "COMPLETED", 0), 13'000), "");

  FakeBroker broker;
  std::optional<transport::Request> output;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.handle("job.attach", [&output](const transport::Request& request) { output = request; });
  broker.handle("jobs", [&, asked = 0](const transport::Request& request) mutable {
    request.reply(transport::pack(msg::JobsReply{{++asked == 1 ? record : running}, ""}));
    if (asked == 2) output->end();
  });
  broker.answer("job.wait", msg::WaitReply{{ended(5, "sh", "COMPLETED", 0)}});
  broker.start();
  const Ran ran = run_cli({"run", "--progress", "sh"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.err, testing::MatchesRegex("holon run: job 5 waits: needs 8 cores, 2 are free\n"
                                             "holon run: job 5 runs on n0, .* of 1m00s\n"));
}

// Each question more is another time that both processes have to be given a core.
TEST(Run, HowItEndedIsAskedForBesideTheOutput) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.stream<msg::OutputChunk>("job.attach", {{0, false, "one\n"}});
  broker.answer("job.wait", msg::WaitReply{{ended(5, "sh", "COMPLETED", 0)}});
  broker.start();
  EXPECT_EQ(run_cli({"run", "sh"}).code, 0);
  EXPECT_THAT(broker.asked(), ElementsAre("submit ", "job.wait ", "job.attach "));
}

TEST(Run, ExitCodesSayHowItEnded) {
  struct Case {
    msg::JobRecord record;
    int code;
    std::string err;
  };
  const std::vector<Case> cases = {
      {ended(5, "a", "COMPLETED", 0), 0, ""},
      {ended(5, "a", "FAILED", 139), 139, ""},
      {ended(5, "a", "TIMEOUT", 143, "time limit of 1s"), kTimeLimit,
       "holon run: job 5: time limit of 1s\n"},
      {ended(5, "a", "CANCELED", 143, "by holon cancel"), 143,
       "holon run: job 5: by holon cancel\n"},
      {ended(5, "a", "FAILED", -1, "its node is down"), kNotRun,
       "holon run: job 5: its node is down\n"},
  };
  for (const auto& c : cases) {
    FakeBroker broker;
    broker.answer("submit", msg::SubmitReply{5, 1});
    broker.stream<msg::OutputChunk>("job.attach", {});
    broker.answer("job.wait", msg::WaitReply{{c.record}});
    broker.start();
    const Ran ran = run_cli({"run", "x"});
    EXPECT_EQ(ran.code, c.code) << c.record.result;
    EXPECT_EQ(ran.err, c.err);
  }
}

TEST(Jobs, AreATable) {
  FakeBroker broker;
  msg::JobRecord waiting = job(3, "wide", "SCHED");
  waiting.reason = "needs 8 cores, 2 are free";
  waiting.limit = 60'000;
  waiting.ncores = 8;
  msg::JobRecord child = ended(1, "campaign.sh", "COMPLETED", 0);
  child.is_instance = true;
  broker.answer("jobs", msg::JobsReply{{child, ended(2, "bad", "FAILED", 3), waiting}, ""});
  broker.start();
  const Ran ran = run_cli({"jobs", "-a"});
  EXPECT_EQ(ran.out,
            "ID  NAME          STATE      CORES   TIME  LIMIT  INFO\n"
            " 1  campaign.sh/  COMPLETED      2  7.30s         n0\n"
            " 2  bad           FAILED         2  7.30s         exit code 3\n"
            " 3  wide          SCHED          8         1m00s  needs 8 cores, 2 are free\n");
  EXPECT_TRUE(broker.last<msg::JobsRequest>("jobs").all);
}

// A path may come twice: what its instance says now is shown, whatever comes first.
TEST(Jobs, OfAnInstanceThatDoesNotAnswerSayAsOfWhenTheyStoodSo) {
  FakeBroker broker;
  msg::JobRecord old = job(3, "wide", "SCHED"), newer = job(3, "wide", "RUN");
  msg::JobRecord silent = job(4, "other", "RUN");
  old.path = newer.path = "/1/3";
  silent.path = "/1/4";
  old.as_of = silent.as_of = 1'000;
  broker.answer("jobs", msg::JobsReply{{old, newer, silent}, ""});
  broker.start();
  const Ran ran = run_cli({"jobs", "-R"});
  EXPECT_NE(ran.out.find("/1/3  wide   RUN        2"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("/1/4  other  RUN        2"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("as of "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(": its instance does not answer\n"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("as of "), ran.out.rfind("as of ")) << ran.out;
}

TEST(Jobs, CanBeJsonWithTheFieldsOfTheProtocol) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{{ended(2, "b", "FAILED", 3)}, ""});
  broker.start();
  const Ran ran = run_cli({"jobs", "-R", "--json"});
  const json jobs = json::parse(ran.out)["jobs"];
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0]["path"], "/2");
  EXPECT_EQ(jobs[0]["t_finish"], 9'300);
  EXPECT_TRUE(broker.last<msg::JobsRequest>("jobs").recursive);
}

TEST(Paths, TravelWithTheRequest) {
  FakeBroker broker;
  msg::TreeNode here;
  here.path = "/3/7";
  broker.answer("status", here);
  broker.answer("jobs", msg::JobsReply{});
  broker.start();
  run_cli({"-i", "/2", "jobs"});
  run_cli({"jobs", "-i", ".."});
  run_cli({"jobs", "/3/9/4"});
  EXPECT_THAT(broker.asked(), ElementsAre("jobs /2", "status ", "jobs /3", "jobs /3/9"));
}

TEST(JobWait, FailsWhenAJobDid) {
  FakeBroker broker;
  broker.answer("job.wait",
                msg::WaitReply{{ended(1, "a", "COMPLETED", 0), ended(2, "b", "FAILED", 3)}});
  broker.start();
  const Ran ran = run_cli({"job", "wait", "1-2"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err, "holon job wait: job 2 (b): FAILED: exit code 3\n");
  EXPECT_THAT(broker.last<msg::WaitRequest>("job.wait").ids, ElementsAre(1, 2));
}

TEST(JobWait, SaysAReasonWithoutControlCharacters) {
  FakeBroker broker;
  broker.answer("job.wait", msg::WaitReply{{ended(2, "b", "FAILED", 3, "by \x1b[31mann\n")}});
  broker.start();
  EXPECT_EQ(run_cli({"job", "wait", "2"}).err, "holon job wait: job 2 (b): FAILED: by ?[31mann?\n");
}

// Numbers count within one instance only.
TEST(JobWait, NamesAJobByThePathItWasNamedBy) {
  FakeBroker broker;
  msg::JobRecord inner = ended(1, "b", "FAILED", 3);
  inner.path = "/22/1/1";
  broker.answer("job.wait", msg::WaitReply{{inner}});
  broker.start();
  EXPECT_EQ(run_cli({"job", "wait", "/22/1/1"}).err,
            "holon job wait: job /22/1/1 (b): FAILED: exit code 3\n");
}

TEST(JobInfo, SaysThatAJobHasNoResourcesYet) {
  FakeBroker broker;
  msg::JobInfoReply info;
  info.job = job(9, "sleep", "SCHED");
  broker.answer("job.info", info);
  broker.start();
  const Ran ran = run_cli({"job", "info", "9", "R"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "holon job info: /9: it has no resources yet: there is no R before it starts\n");
}

// By their ids: a broker that is started again must not forget those that end meanwhile.
TEST(JobWait, ForAllIsForThoseThereAreNow) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{{job(3, "a", "RUN"), job(5, "b", "SCHED")}, ""});
  broker.answer("job.wait",
                msg::WaitReply{{ended(3, "a", "FAILED", 7), ended(5, "b", "COMPLETED", 0)}});
  broker.start();
  EXPECT_EQ(run_cli({"job", "wait", "--all"}).code, kFailed);
  EXPECT_THAT(broker.asked(), ElementsAre("jobs ", "job.wait "));
  EXPECT_THAT(broker.last<msg::WaitRequest>("job.wait").ids, ElementsAre(3, 5));
}

TEST(JobWait, ForAllOfNoneIsOverAtOnce) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{});
  broker.start();
  EXPECT_EQ(run_cli({"job", "wait", "--all"}).code, kOk);
  EXPECT_THAT(broker.asked(), ElementsAre("jobs ", "jobs ")) << "what waits, and what has failed";
}

TEST(Submit, SaysWhichVariablesAJobspecCannotHold) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{1, 1});
  broker.start();
  setenv("LATIN", "caf\xe9", 1);
  const Ran ran = run_cli({"submit", "true"});
  const Ran asked = run_cli({"submit", "--env", "LATIN=\xe9", "true"});
  const Ran taken_out = run_cli({"submit", "--env", "-LATIN", "true"});
  unsetenv("LATIN");
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.out, "1\n");
  EXPECT_THAT(ran.err, HasSubstr("the job runs without them: LATIN\n"));
  EXPECT_EQ(asked.code, kUsage);
  EXPECT_EQ(taken_out.err, "");
}

TEST(Cancel, SaysWhatWasOverAlready) {
  FakeBroker broker;
  broker.answer("cancel", msg::CancelReply{{1}, {2, 3}});
  broker.answer("jobs", msg::JobsReply{{ended(2, "a", "COMPLETED", 0)}, ""});
  broker.start();
  const Ran ran = run_cli({"cancel", "1", "2", "-m", "enough"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err,
            "holon cancel: job /2 is over: COMPLETED\n"
            "holon cancel: job 3 is over\n");
  EXPECT_EQ(broker.last<msg::CancelRequest>("cancel").reason, "enough");
}

msg::TreeNode node(const std::string& path, const std::string& name, const std::string& policy,
                   std::int64_t cores, std::int64_t cores_free) {
  msg::TreeNode made;
  made.path = path;
  made.name = name;
  made.policy = policy;
  made.health = "up";
  made.nodes = 1;
  made.cores = cores;
  made.cores_free = cores_free;
  return made;
}

TEST(Tree, IsDrawnWithResourcesJobsAndReasons) {
  FakeBroker broker;
  auto root = node("/", "here", "fcfs", 16, 8);
  root.running = 1;
  auto child = node("/1", "physics", "easy", 8, 0);
  child.running = 4;
  child.pending = 2;
  child.inactive = 14;
  child.failed = 3;
  child.cancelled = 2;
  auto lost = node("/1/9", "deep", "fcfs", 2, 2);
  lost.health = "unreachable";
  child.children = {lost};
  auto lender = node("/2", "bio", "fcfs", 8, 5);
  lender.lent_cores = 3;
  lender.gpus = 2;
  lender.lent_gpus = 2;
  root.children = {child, lender};
  broker.answer("tree", root);
  auto wide = job(5, "wide", "SCHED");
  wide.path = "/1/5";
  wide.reason = "needs 8 cores, 0 are free";
  auto next = wide;
  next.path = "/1/6";
  broker.answer("jobs", msg::JobsReply{{wide, next}, ""});
  broker.start();
  const Ran ran = run_cli({"tree", "--ascii"});
  EXPECT_EQ(ran.out,
            "/  here  fcfs\n"
            "|  8 of 16 cores free; 1 running\n"
            "|- /1  physics  easy\n"
            "|  |  0 of 8 cores free; 4 running, 2 waiting, 11 completed, 2 cancelled, 1 failed\n"
            "|  |  /1/5 and 1 more wait: needs 8 cores, 0 are free\n"
            "|  `- /1/9  deep  unreachable\n"
            "`- /2  bio  fcfs\n"
            "      5 of 8 cores free, 3 lent, 0 of 2 gpus, 2 lent; no jobs\n");
}

// Why a node is drained is somebody's text.
TEST(Tree, ShowsNoControlCharacters) {
  FakeBroker broker;
  auto root = node("/", "here", "fcfs", 16, 0);
  root.pending = 1;
  auto away = node("/1", "away", "fcfs", 1, 0);
  away.health = "up\nor not";
  root.children = {away};
  broker.answer("tree", root);
  auto waits = job(5, "waits", "SCHED");
  waits.reason = "node0 is drained: \x1b[31mred\nx";
  broker.answer("jobs", msg::JobsReply{{waits}, ""});
  broker.answer("status", node("/", "a\x1b[31m", "fcfs", 1, 1));
  broker.start();
  EXPECT_EQ(run_cli({"tree", "--ascii"}).out,
            "/  here  fcfs\n"
            "|  0 of 16 cores free; 1 waiting\n"
            "|  /5 waits: node0 is drained: ?[31mred?x\n"
            "`- /1  away  up?or not\n");
  EXPECT_THAT(run_cli({"uptime"}).out, testing::StartsWith("/ a?[31m: up for "));
}

// A listing of all of them would take seconds.
TEST(Tree, ReadsTheReasonsOfTheFirstJobsThatWaitOnly) {
  FakeBroker broker;
  auto root = node("/", "here", "fcfs", 16, 0);
  root.running = 1;
  root.pending = 100'000;
  broker.answer("tree", root);
  msg::JobsReply page;
  auto runs = job(1, "runs", "RUN");
  runs.t_alloc = 1;
  page.jobs = {runs};
  for (std::uint64_t id = 2; id <= 101; ++id) {
    page.jobs.push_back(job(id, "waits", "SCHED"));
    page.jobs.back().reason = id == 2 ? "needs 8 cores, 0 are free" : "not looked at yet";
  }
  page.next = "more";
  broker.answer("jobs", page);
  broker.start();
  const Ran ran = run_cli({"tree", "--ascii"});
  EXPECT_EQ(ran.out,
            "/  here  fcfs\n"
            "   0 of 16 cores free; 1 running, 100000 waiting\n"
            "   /2 waits: needs 8 cores, 0 are free\n"
            "   /3 and 98 more wait: not looked at yet\n"
            "   and 99900 more wait behind them\n");
  const auto asked = broker.last<msg::JobsRequest>("jobs");
  EXPECT_FALSE(asked.recursive);
  EXPECT_EQ(asked.page, 100u);
}

TEST(Resources, AreListedByType) {
  FakeBroker broker;
  msg::ResourceReply reply;
  reply.total = {{"core", 8}, {"node", 2}, {"memory", 32}};
  reply.free = {{"core", 3}, {"node", 1}, {"memory", 32}};
  reply.drained = {{"core", 1}};
  reply.nodes_free = "n1";
  reply.nodes_allocated = "n0";
  reply.nodes_drained = {{"n0", "bad \x1b[1m fan", 0, true, true}};
  broker.answer("resource.list", reply);
  broker.start();
  const Ran ran = run_cli({"resource", "list"});
  EXPECT_EQ(
      ran.out,
      "TYPE    TOTAL  FREE  ALLOCATED  DRAINED  DOWN\n"
      "node        2     1          1        0     0\n"
      "core        8     3          4        1     0\n"
      "memory     32    32          0        0     0\n"
      "\n"
      "nodes free:      n1\n"
      "nodes allocated: n0\n"
      "node drained:    n0, since -, by an instance above, jobs run there still: bad ?[1m fan\n");
}

TEST(Resources, AreDrainedByHostLists) {
  FakeBroker broker;
  broker.answer("resource.drain", msg::Empty{});
  broker.start();
  EXPECT_EQ(run_cli({"resource", "drain", "n[0-3]", "n7", "-m", "fans"}).code, kOk);
  auto request = broker.last<msg::DrainRequest>("resource.drain");
  EXPECT_EQ(request.hosts, "n[0-3],n7");
  EXPECT_TRUE(request.drain);
  EXPECT_EQ(request.reason, "fans");
  EXPECT_EQ(run_cli({"resource", "undrain", "n7"}).code, kOk);
  EXPECT_FALSE(broker.last<msg::DrainRequest>("resource.drain").drain);
  EXPECT_EQ(run_cli({"resource", "drain"}).code, kUsage);
}

TEST(Batch, MakesAJobThatIsAnInstance) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{4, 1});
  broker.start();
  const Ran ran =
      run_cli({"batch", "-n", "8", "--conf", "queue.policy=easy", "--wrap", "sh", "-c", "x"});
  EXPECT_EQ(ran.out, "4\n") << ran.err;
  const auto request = broker.last<msg::SubmitRequest>("submit");
  EXPECT_TRUE(request.is_instance);
  const json spec = json::parse(request.jobspec);
  auto command = spec["tasks"][0]["command"].get<std::vector<std::string>>();
  ASSERT_FALSE(command.empty());
  command.erase(command.begin());  // this program's own path
  EXPECT_THAT(command, ElementsAre("start", "--grant", "--conf", "queue.policy=easy", "--", "sh",
                                   "-c", "x"));
  EXPECT_EQ(spec["attributes"]["system"]["job"]["name"], "wrap");
}

TEST(Batch, MakesAnElasticInstance) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{4, 1});
  broker.start();
  const auto begun_with = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "batch");
    options.insert(options.end(), {"--wrap", "true"});
    const Ran ran = run_cli(options);
    EXPECT_EQ(ran.code, kOk) << ran.err;
    const json spec = json::parse(broker.last<msg::SubmitRequest>("submit").jobspec);
    EXPECT_EQ(spec["tasks"][0]["command"][4], "grant.max=8");
    return spec["resources"][0]["count"].get<int>();
  };
  EXPECT_EQ(begun_with({"--elastic", "2-8"}), 2);
  EXPECT_EQ(begun_with({"--elastic", "8"}), 1);
  EXPECT_EQ(begun_with({"--elastic", "8", "-n", "4"}), 4);
  EXPECT_EQ(begun_with({"-n", "4", "--elastic", "4-8"}), 4);
  EXPECT_EQ(begun_with({"--elastic", "8", "-N", "1", "-x"}), 1);
  const auto refusal = [](std::vector<std::string> options) {
    options.insert(options.begin(), "batch");
    options.insert(options.end(), {"--wrap", "true"});
    const Ran ran = run_cli(options);
    EXPECT_EQ(ran.code, kUsage);
    return ran.err;
  };
  EXPECT_THAT(refusal({"--elastic", "8-2"}), HasSubstr("2-8 (it begins with two)"));
  EXPECT_THAT(refusal({"--elastic", "many"}), HasSubstr("'many' is not accepted"));
  EXPECT_THAT(refusal({"--elastic", "0-8"}), HasSubstr("'0-8' is not accepted"));
  EXPECT_THAT(refusal({"--elastic", "2-8", "-n", "4"}), HasSubstr("it begins with 4 cores by -n"));
  EXPECT_THAT(refusal({"--elastic", "4", "-N", "4"}), HasSubstr("which is not less"));
  EXPECT_THAT(refusal({"--elastic", "2-8", "-N", "4"}), HasSubstr("it begins with 4 cores"));
  EXPECT_THAT(refusal({"--elastic", "4", "-n", "4"}), HasSubstr("which is not less"));
  EXPECT_THAT(refusal({"--elastic", "2-8", "-c", "2"}), HasSubstr("-c"));
  EXPECT_THAT(refusal({"--elastic", "2-8", "-N", "1", "-x"}), HasSubstr("with -x"));
  EXPECT_THAT(refusal({"--elastic", "1", "-N", "1", "-x"}), HasSubstr("1 cores at least"));
}

TEST(Instances, ThatAreNotThereAreSaidSo) {
  setenv("HOLON_URI", "ipc:///nonexistent/broker", 1);
  const Ran ran = run_cli({"jobs"});
  unsetenv("HOLON_URI");
  EXPECT_EQ(ran.code, kNoInstance);
  EXPECT_THAT(ran.err, HasSubstr("ipc:///nonexistent/broker: no instance listens there"));
  setenv("HOLON_URI", "ipc:///nonexistent/\nholon: all is well", 1);
  const Ran two_lines = run_cli({"jobs"});
  unsetenv("HOLON_URI");
  EXPECT_THAT(two_lines.err, HasSubstr("ipc:///nonexistent/?holon: all is well: no instance"));
}

}  // namespace
}  // namespace holon::cli
