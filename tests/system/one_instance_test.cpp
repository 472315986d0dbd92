// One instance, no children: what a person does on one machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::vector<std::string> kFourCores = {"--resources", "node=1/core=4"};

TEST(OneInstance, RunPassesOnOutputErrorAndExitCode) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  const Ran ran = sandbox.run({"run", "sh", "-c", "echo out; echo err >&2; exit 42"});
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_THAT(ran.err, HasSubstr("err\n"));
  EXPECT_EQ(ran.code, 42);
}

TEST(OneInstance, TheInitialProgramDecidesLifetimeAndExitCode) {
  Sandbox sandbox;
  const std::string script = sandbox.write_file("script.sh",
                                                "#!/bin/sh\n"
                                                "holon run echo \"in $1\"\n"
                                                "exit 7\n",
                                                true);
  const Ran ran = sandbox.run({"start", "--resources", "node=1/core=2", script, "campaign"});
  EXPECT_EQ(ran.out, "in campaign\n") << ran.err;
  EXPECT_EQ(ran.code, 7);
}

TEST(OneInstance, AScriptThatMayNotBeExecutedIsToldHowItMay) {
  Sandbox sandbox;
  const std::string script = sandbox.write_file("new.sh", "#!/bin/sh\n");
  const Ran ran = sandbox.run({"start", "--resources", "node=1/core=2", script});
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.err, HasSubstr(script + ": Permission denied; `chmod +x` helps"));
}

TEST(OneInstance, AScriptWithoutFirstLineIsRunByTheShell) {
  Sandbox sandbox;
  const std::string script = sandbox.write_file("plain.sh", "holon run echo ran $1\n", true);
  const Ran ran = sandbox.run({"start", "--resources", "node=1/core=2", script, "well"});
  EXPECT_EQ(ran.out, "ran well\n") << ran.err;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"batch", script, "better"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 0);
  EXPECT_EQ(sandbox.ok({"job", "output", "1"}), "ran better\n");
}

TEST(OneInstance, ItCanBeStartedWithoutStandardInputAndOutput) {
  Sandbox sandbox;
  const std::string script = sandbox.write_file(
      "start.sh",
      "#!/bin/sh\nholon=$1\nexec <&- >&- 2>&-\n\"$holon\" start --bg --resources node=1/core=1\n",
      true);
  Process start({"/bin/sh", script, HOLON_BINARY}, sandbox.environment(), sandbox.folder());
  EXPECT_EQ(start.finish().code, 0);
  EXPECT_EQ(sandbox.ok({"run", "echo", "lives"}), "lives\n");
  sandbox.ok({"shutdown"});
}

TEST(OneInstance, ASecondCtrlCDoesNotWaitForTheJobsEnd) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", "node=1/core=1", "--conf", "job.grace=1m", "--conf",
                              "instance.shutdown-timeout=1s"});
  Process run =
      sandbox.start({"run", "sh", "-c", "trap '' TERM; echo started; while :; do sleep 1; done"});
  EXPECT_EQ(run.read_line(), "started");
  run.signal(SIGINT);
  EXPECT_THAT(run.read_error_line(), HasSubstr("cancelling job 1"));
  run.signal(SIGINT);
  const Ran ran = run.finish();
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("not waiting for it"));
  EXPECT_EQ(sandbox.json({"jobs"})["jobs"][0]["state"], "CLEANUP");
}

TEST(OneInstance, WithoutANameItHasThatOfItsHost) {
  Sandbox sandbox;
  Instance first(sandbox, {"--resources", "node=1/core=1"});
  Instance second(sandbox, {"--resources", "node=1/core=1"});
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_THAT(sandbox.run({"jobs"}).err, HasSubstr(std::string("  # ") + host));
}

TEST(OneInstance, AMistakenConfigurationIsAMistakeOnTheCommandLine) {
  Sandbox sandbox;
  const Ran ran = sandbox.run({"start", "--conf", "a=b", "true"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("unknown key 'a'"));
  EXPECT_LT(ran.err.size(), 400u) << "not every key there is";
}

TEST(OneInstance, FindsItsResourcesWithHwloc) {
  Sandbox sandbox;
  Instance instance(sandbox, {});
  const auto list = sandbox.json({"resource", "list"});
  EXPECT_GE(list["total"]["core"].get<int>(), 1);
  EXPECT_EQ(list["total"]["node"], 1);
  EXPECT_EQ(sandbox.ok({"run", "-n1", "echo", "bound"}), "bound\n");
}

TEST(OneInstance, ANodeCanBeAskedForWhateverHwlocFindsInIt) {
  Sandbox sandbox;
  for (const char* resources : {"hwloc", "node=2/socket=1/numanode=1/core=2"}) {
    const Ran ran = sandbox.run(
        {"start", "--resources", resources, HOLON_BINARY, "run", "-N1", "echo", "here"});
    EXPECT_EQ(ran.out, "here\n") << resources << ": " << ran.err;
  }
}

TEST(OneInstance, TasksKnowWhoTheyAre) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  const std::string out = sandbox.ok({"run", "-n", "2", "--label-io", "sh", "-c",
                                      "echo $HOLON_JOB_ID $HOLON_TASK_RANK $HOLON_NTASKS"});
  EXPECT_THAT(out, HasSubstr("0: 1 0 2\n"));
  EXPECT_THAT(out, HasSubstr("1: 1 1 2\n"));
}

TEST(OneInstance, AJobThatCanNeverRunIsRefusedWithTheReason) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  const Ran ran = sandbox.run({"submit", "-c", "5", "true"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("no node has 5 cores; the largest has 4"));
  const auto jobs = sandbox.json({"jobs", "-a"})["jobs"];
  ASSERT_EQ(jobs.size(), 1u) << "the refusal leaves a record";
  EXPECT_EQ(jobs[0]["result"], "REJECTED");
  EXPECT_NE(jobs[0]["reason"], "");
}

TEST(OneInstance, ATimeLimitIsEnforced) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  const Ran ran = sandbox.run({"run", "-t", "300ms", "sleep", "600"});
  EXPECT_EQ(ran.code, 124);
  EXPECT_THAT(ran.err, HasSubstr("limit"));
  EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["result"], "TIMEOUT");
}

TEST(OneInstance, ATaskThatIgnoresSigtermIsKilledAfterTheGrace) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", "node=1/core=4", "--conf", "job.grace=200ms"});
  const Ran ran =
      sandbox.run({"run", "-t", "300ms", "sh", "-c", "trap '' TERM; while :; do sleep 600; done"});
  EXPECT_EQ(ran.code, 124) << ran.err;
  EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
}

TEST(OneInstance, CtrlCCancelsARunAndSaysSo) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  Process run = sandbox.start({"run", "sh", "-c", "echo started; exec sleep 600"});
  EXPECT_EQ(run.read_line(), "started");
  run.signal(SIGINT);
  const Ran ran = run.finish();
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("cancelling job 1"));
  EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["result"], "CANCELED");
}

TEST(OneInstance, PendingAndRunningJobsCanBeCancelled) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"submit", "-c", "4", "sleep", "600"});
  sandbox.ok({"submit", "-c", "4", "sleep", "601"});
  sandbox.ok({"cancel", "2"});
  sandbox.ok({"cancel", "1", "-m", "no more"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1", "2"}).code, 1);
  const auto jobs = sandbox.json({"jobs", "-a"})["jobs"];
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0]["result"], "CANCELED");
  EXPECT_THAT(jobs[0]["reason"].get<std::string>(), HasSubstr("no more"));
  EXPECT_EQ(jobs[1]["result"], "CANCELED");
  EXPECT_EQ(jobs[1]["t_start"], 0) << "it never ran";
}

TEST(OneInstance, AWaitingJobSaysWhy) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"submit", "-c", "4", "sleep", "600"});
  sandbox.ok({"submit", "-c", "2", "true"});
  EXPECT_THAT(sandbox.ok({"jobs"}), HasSubstr("not free"));
  EXPECT_THAT(sandbox.ok({"tree"}), HasSubstr("/2 waits: "));
  sandbox.ok({"cancel", "1"});
  sandbox.ok({"job", "wait", "2"});
}

TEST(OneInstance, ManyJobsInOneRequestAllRun) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"submit", "--count", "200", "true"});
  sandbox.ok({"job", "wait", "1-200"});
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"].size(), 200u);
}

TEST(OneInstance, OutputIsKeptAndMayHaveAFileOfItsOwn) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"submit", "--output", "o-{{id}}.txt", "echo", "filed"});
  sandbox.ok({"submit", "echo", "kept"});
  sandbox.ok({"job", "wait", "1", "2"});
  EXPECT_EQ(sandbox.read_file("o-1.txt"), "filed\n");
  EXPECT_EQ(sandbox.ok({"job", "output", "1"}), "filed\n");
  EXPECT_EQ(sandbox.ok({"job", "output", "2"}), "kept\n");
}

TEST(OneInstance, OutputOfEachTaskCanBeReadTogetherOnceTheJobIsOver) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"submit", "-n", "2", "--name", "a/b", "--output", "{{name}}-{{taskid}}.txt", "sh",
              "-c", "echo task $HOLON_TASK_RANK"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("a_b-0.txt"), "task 0\n");
  EXPECT_EQ(sandbox.ok({"job", "output", "1"}), "task 0\ntask 1\n");
}

TEST(OneInstance, ACommandThatIsNotThereFailsWithThatReason) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  const Ran ran = sandbox.run({"run", "no-such-command"});
  EXPECT_EQ(ran.code, 127);
  EXPECT_THAT(ran.err, HasSubstr("no-such-command"));
}

TEST(OneInstance, TheEventlogTellsALife) {
  Sandbox sandbox;
  Instance instance(sandbox, kFourCores);
  sandbox.ok({"run", "true"});
  const std::string log = sandbox.ok({"job", "eventlog", "1"});
  std::size_t at = 0;
  for (const char* event : {"submit", "alloc", "start", "finish", "free", "clean"}) {
    const auto found = log.find(event, at);
    EXPECT_NE(found, std::string::npos) << event << " in\n" << log;
    at = found == std::string::npos ? at : found;
  }
}

TEST(OneInstance, InTheBackgroundItLivesUntilShutdown) {
  Sandbox sandbox;
  sandbox.ok({"start", "--bg", "--resources", "node=2/core=2"});
  sandbox.ok({"submit", "sleep", "600"});
  EXPECT_THAT(sandbox.ok({"uptime"}), HasSubstr("2 nodes"));
  sandbox.ok({"shutdown"});
  EXPECT_TRUE(sandbox.processes().empty());
  EXPECT_EQ(sandbox.run({"jobs"}).code, 3);
}

TEST(OneInstance, AStateDirectoryThatWasThereKeepsItsModeAndItsNewFilesAreTheOwners) {
  namespace fs = std::filesystem;
  Sandbox sandbox;
  const fs::path mine = sandbox.folder() + "/mine";
  fs::create_directory(mine);
  fs::permissions(mine, fs::perms(0755));
  sandbox.ok({"start", "--bg", "--resources", "node=1/core=1", "--state-dir", mine});
  EXPECT_EQ(fs::status(mine).permissions(), fs::perms(0755));
  for (const auto& entry : fs::directory_iterator(mine))
    EXPECT_EQ(entry.status().permissions() & fs::perms(077), fs::perms::none) << entry.path();
  sandbox.ok({"shutdown"});
}

// What the caller had open stays its own: a lock it holds is free when it has gone.
TEST(OneInstance, InTheBackgroundItKeepsNothingOpenOfItsCaller) {
  Sandbox sandbox;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  sandbox.ok({"start", "--bg", "--resources", "node=1/core=1"});
  close(ends[1]);
  pollfd closed{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&closed, 1, 30'000), 1) << "the instance holds the other end of the pipe";
  close(ends[0]);
  sandbox.ok({"shutdown"});
}

// Its core numbers are its own, not those of the tree it is a job of.
TEST(OneInstance, ARootInsideAJobBindsToTheCoresOfThatJob) {
  Sandbox sandbox;
  Instance instance(sandbox, {});
  if (sandbox.json({"resource", "list"})["total"]["core"].get<int>() < 2)
    GTEST_SKIP() << "one core: there is no other to be bound to by mistake";
  const std::string script = sandbox.write_file("inner.sh", R"(#!/bin/sh
own=$(grep Cpus_allowed_list /proc/self/status)
inner=$(")" HOLON_BINARY R"(" start --here holon run grep Cpus_allowed_list /proc/self/status)
[ "$own" = "$inner" ] && echo same || echo "$inner, not $own"
)",
                                                true);
  EXPECT_EQ(sandbox.ok({"run", "-n", "2", script}), "same\nsame\n");
}

TEST(OneInstance, WhatThereIsAndWhoHoldsItIsSavedAndStartedFrom) {
  Sandbox sandbox;
  const std::string file = sandbox.folder() + "/now.db";
  std::string resources;
  {
    Instance instance(sandbox, {"--resources", "node=2/core=2"});
    Process run = sandbox.start({"run", "-n", "3", "-t", "1h", "sh", "-c", "echo up; sleep 600"});
    EXPECT_EQ(run.read_line(), "up");
    sandbox.ok({"resource", "drain", "node1", "-m", "a fan"});
    sandbox.ok({"resource", "save", file});
    resources = sandbox.ok({"resource", "R"});
    run.signal(SIGINT);
    EXPECT_EQ(run.finish().code, 130);
  }
  const std::string held = sandbox.ok({"resource", "load", "--held", file});
  EXPECT_THAT(held, ContainsRegex("\n +1 +allocation .* 3 +0\n")) << held;
  const auto loaded = nlohmann::json::parse(sandbox.ok({"resource", "load", file}));
  const auto saved = nlohmann::json::parse(resources);
  EXPECT_EQ(loaded["execution"]["R_lite"], saved["execution"]["R_lite"]);
  EXPECT_EQ(loaded["scheduling"]["graph"]["nodes"].size(),
            saved["scheduling"]["graph"]["nodes"].size());
  Instance again(sandbox, {"--resources", file});
  EXPECT_EQ(sandbox.json({"resource", "list"})["total"]["core"], 4);
}

TEST(OneInstance, ADatabaseThatIsNoneIsSaidToBeSo) {
  Sandbox sandbox;
  const std::string text = sandbox.write_file("text.db", "no database\n");
  Instance instance(sandbox, kFourCores);
  const Ran saved = sandbox.run({"resource", "save", text});
  EXPECT_EQ(saved.code, 2);
  EXPECT_THAT(saved.err, HasSubstr("text.db"));
  const Ran loaded = sandbox.run({"resource", "load", sandbox.folder() + "/none.db"});
  EXPECT_EQ(loaded.code, 1);
  EXPECT_THAT(loaded.err, HasSubstr("none.db"));
}

TEST(OneInstance, SeveralAreListedWhenNoneIsNamed) {
  Sandbox sandbox;
  Instance first(sandbox, {"--resources", "node=1/core=1", "--name", "one"});
  Instance second(sandbox, {"--resources", "node=1/core=1", "--name", "two"});
  const Ran ran = sandbox.run({"jobs"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("2 instances run here"));
  EXPECT_THAT(ran.err, HasSubstr(first.uri()));
  EXPECT_THAT(ran.err, HasSubstr(second.uri()));
  sandbox.environment()["HOLON_URI"] = second.uri();
  EXPECT_THAT(sandbox.ok({"uptime"}), HasSubstr("two"));
}

}  // namespace
}  // namespace holon::system_test
