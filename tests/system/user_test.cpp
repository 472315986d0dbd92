// What somebody meets who uses it for the first time, and the slips of the hand that go with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A command line of the shell, with `holon` in PATH.
Ran shell(Sandbox& sandbox, const std::string& line) {
  auto environment = sandbox.environment();
  environment["PATH"] =
      std::filesystem::path(HOLON_BINARY).parent_path().string() + ":" + environment["PATH"];
  return Process({"/bin/sh", "-c", line}, environment, sandbox.folder()).finish();
}

TEST(User, WhoReadsOnlyTheBeginningEndsTheJob) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const Ran ran = shell(sandbox, "holon run yes < /dev/null | head -2");
  EXPECT_EQ(ran.out, "y\ny\n");
  EXPECT_THAT(ran.err, HasSubstr("nobody reads its output any more; cancelling job 1"));
  sandbox.run({"job", "wait", "1"});
  EXPECT_EQ(sandbox.json({"job", "info", "1"})["result"], "CANCELED");
}

TEST(User, OutputToANamedPipeOrADeviceKeepsNobodyWaiting) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const Ran piped = shell(
      sandbox, "mkfifo pipe; cat pipe > got & holon run --output pipe echo hi; wait; cat got");
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, "hi\n");
  sandbox.ok({"uptime"});
  const Ran endless = sandbox.run({"run", "--output", "/dev/zero", "true"});
  EXPECT_EQ(endless.code, 0) << endless.err;
  EXPECT_EQ(endless.out, "");
}

TEST(User, WhatIsNotSaidOnTheOutputIsSaidAsAnError) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const Ran lost = shell(sandbox, "holon submit --count 2 true > /dev/full");
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.err, HasSubstr("submitted jobs 1 to 2"));
  // More than a buffer, so that it goes wrong before the end.
  const Ran unsaid = shell(sandbox, "holon config get > /dev/full");
  EXPECT_EQ(unsaid.code, 1);
  EXPECT_THAT(unsaid.err, HasSubstr("its output cannot be written: No space left on device"));
  sandbox.run({"run", "-n", "9", "true"});
  const Ran never = sandbox.run({"job", "output", "3"});
  EXPECT_THAT(never.err, HasSubstr("job /3 never ran: REJECTED: "));
  const Ran man = sandbox.run({"man", "jobs"});
  EXPECT_EQ(man.code, 2);
  EXPECT_THAT(man.err, HasSubstr("holon jobs --help"));
}

TEST(User, APageOfAnInstanceThatHasEndedIsMadeFromItsStateDirectory) {
  Sandbox sandbox;
  const std::string script = sandbox.write_file(
      "campaign.sh", "#!/bin/sh\nholon run --name good true\nholon run false\nexit 0\n", true);
  sandbox.ok({"start", "--resources", "node=1/core=2", "--state-dir", "state", script});
  const std::string page = sandbox.ok({"report", "state", "-o", "-"});
  EXPECT_THAT(page, HasSubstr("state directory"));
  EXPECT_THAT(page, HasSubstr("1 node, 2 cores"));
  EXPECT_THAT(sandbox.ok({"report", "state", "-o", "-", "--title", "mine"}), HasSubstr("mine"));
  const Ran none = sandbox.run({"report", "nowhere"});
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("there is no journal of an instance"));
  Instance instance(sandbox, {"--resources", "node=1/core=1", "--state-dir", "live"});
  EXPECT_THAT(sandbox.run({"report", "live"}).err,
              testing::AllOf(HasSubstr("its instance runs"), HasSubstr(instance.uri())));
}

// Its runtime directory is elsewhere, as where a login and a job have different ones.
TEST(User, AStateDirectoryInUseIsToldWithTheAddressOfItsInstance) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", "node=1/core=1", "--state-dir", "live"});
  const std::string elsewhere = sandbox.folder() + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::permissions(elsewhere, std::filesystem::perms(0700));
  sandbox.environment()["XDG_RUNTIME_DIR"] = elsewhere;
  sandbox.environment().erase("HOLON_URI");
  const Ran second = sandbox.run({"start", "--bg", "--state-dir", "live"});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, testing::AllOf(HasSubstr("a running instance uses this state directory"),
                                         HasSubstr("HOLON_URI=" + instance.uri())));
}

TEST(User, TheAuditTellsWhoAskedForWhat) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  EXPECT_EQ(sandbox.ok({"audit"}), "nobody asked for a change\n");
  sandbox.ok({"run", "--name", "one", "true"});
  EXPECT_EQ(sandbox.run({"cancel", "77"}).code, 1);
  const auto all = sandbox.json({"audit"})["entries"];
  ASSERT_EQ(all.size(), 2u) << all.dump();
  EXPECT_EQ(all[0]["topic"], "submit");
  EXPECT_EQ(all[0]["what"], "job 1");
  EXPECT_EQ(all[0]["uid"], geteuid());
  EXPECT_EQ(all[1]["what"], "job 77");
  EXPECT_NE(all[1]["refused"], "");
  const std::string refused = sandbox.ok({"audit", "--refused"});
  EXPECT_THAT(refused, HasSubstr("job 77; refused: "));
  EXPECT_THAT(refused, Not(HasSubstr("submit")));
}

TEST(User, StandardInputGoesThroughAPipeline) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  EXPECT_EQ(shell(sandbox, "printf 'b\\na\\n' | holon run sort").out, "a\nb\n");
  EXPECT_EQ(shell(sandbox, "seq 300000 | holon run cat | cksum").out,
            shell(sandbox, "seq 300000 | cksum").out)
      << "more than any buffer on the way";
  sandbox.write_file("list", "from a file\n");
  EXPECT_EQ(shell(sandbox, "holon run cat < list").out, "from a file\n");
  EXPECT_EQ(shell(sandbox, "holon run cat < /dev/null").out, "");
  EXPECT_EQ(
      shell(sandbox, "echo x | holon run -n 2 sh -c 'echo $HOLON_TASK_RANK:$(cat)' | sort").out,
      "0:x\n1:x\n");
  EXPECT_EQ(shell(sandbox,
                  "echo x | holon run --input 1 -n 2 sh -c "
                  "'echo $HOLON_TASK_RANK:$(cat)' | sort")
                .out,
            "0:\n1:x\n");
}

TEST(User, AnInputThatNobodyReadsOrThatNeverEndsHoldsNothingUp) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  EXPECT_EQ(shell(sandbox, "yes | holon run echo done").out, "done\n");
  Process open = sandbox.start({"run", "echo", "done"});  // its input is a pipe that stays open
  EXPECT_EQ(open.read_line(), "done");
  EXPECT_EQ(open.finish().code, 0);
  EXPECT_EQ(shell(sandbox,
                  "printf '1\\n2\\n3\\n' | while read x; do holon run --input none echo "
                  "$x; done")
                .out,
            "1\n2\n3\n");
}

TEST(User, AJobReadsTheFileItIsGiven) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  sandbox.write_file("list", "from a file\n");
  sandbox.ok({"submit", "--input", "list", "--output", "copy", "cat"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("copy"), "from a file\n");
  sandbox.ok({"submit", "--input", "none-such", "cat"});
  sandbox.run({"job", "wait", "2"});
  EXPECT_THAT(sandbox.ok({"job", "info", "2"}), HasSubstr("cannot read the input file"));
}

TEST(User, AnEmptyEnvironmentIsEmpty) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const std::string out = sandbox.ok({"run", "--env", "-*", "/usr/bin/env"});
  EXPECT_THAT(out, Not(HasSubstr("SYSTEM_TEST_MARK")));
  EXPECT_THAT(out, Not(HasSubstr("\nHOME=")));
  EXPECT_THAT(out, HasSubstr("HOLON_JOB_ID=1\n"));
}

TEST(User, NodesAloneAreATaskEach) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", "node=4/core=2"});
  EXPECT_EQ(shell(sandbox,
                  "holon run -N4 sh -c 'echo $HOLON_NODE_INDEX $HOLON_LOCAL_RANK "
                  "$HOLON_LOCAL_NTASKS' < /dev/null | sort")
                .out,
            "0 0 1\n1 0 1\n2 0 1\n3 0 1\n");
  EXPECT_EQ(shell(sandbox,
                  "holon run -N 2 -n 4 sh -c 'echo $HOLON_NODE_INDEX $HOLON_LOCAL_RANK' "
                  "< /dev/null | sort")
                .out,
            "0 0\n0 1\n1 0\n1 1\n");
}

TEST(User, AShellLineIsOne) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  EXPECT_EQ(sandbox.ok({"run", "--wrap", "echo a; echo b"}), "a\nb\n");
  EXPECT_EQ(sandbox.ok({"run", "--wrap=echo a; echo b"}), "a\nb\n");
  sandbox.ok({"submit", "--wrap", "echo $((1 + 1)) && exit 3"});
  EXPECT_EQ(sandbox.ok({"job", "output", "3"}), "2\n");
  sandbox.ok({"batch", "--wrap", "holon run echo in; echo out"});
  EXPECT_EQ(sandbox.ok({"job", "output", "4"}), "in\nout\n");
  sandbox.ok({"batch", "--wrap", "sh", "-c", "echo words"});
  EXPECT_EQ(sandbox.ok({"job", "output", "5"}), "words\n");
}

TEST(User, ABatchScriptWhoseInterpreterIsNotThereSaysSo) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const std::string script = sandbox.write_file("crlf.sh", "#!/bin/sh\r\necho hi\r\n", true);
  sandbox.ok({"batch", script});
  sandbox.run({"job", "wait", "1"});
  EXPECT_THAT(sandbox.run({"job", "output", "1"}).err,
              HasSubstr("No such file or directory (the interpreter in its first line)"));
  EXPECT_EQ(sandbox.json({"job", "info", "1"})["exit_code"], 126);
}

TEST(User, ARestartKeepsTheResourcesThatWereDeclared) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/kept";
  sandbox.ok({"start", "--state-dir", state, "--resources", "node=1/core=3", "true"});
  const Ran again =
      sandbox.run({"start", "--state-dir", state, "holon", "resource", "list", "--json"});
  EXPECT_EQ(nlohmann::json::parse(again.out)["total"]["core"], 3);
  EXPECT_THAT(again.err, HasSubstr("it has the resources that it was made with, node=1/core=3"));
  const Ran machine = sandbox.run(
      {"start", "--state-dir", state, "--resources", "hwloc", "holon", "resource", "R"});
  EXPECT_EQ(machine.code, 0);
  EXPECT_THAT(machine.out, Not(HasSubstr("\"nodelist\": [\"node0\"]")));
}

TEST(User, AnAllocatedCommandDoesNotOutliveItsInstance) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const Ran limited = sandbox.run({"alloc", "-t", "1s", "sh", "-c", "sleep 60; echo still here"});
  EXPECT_EQ(limited.code, 124);
  EXPECT_THAT(limited.err, HasSubstr("job 1: its time limit was reached"));
  EXPECT_EQ(limited.out, "");

  Process cancelled = sandbox.start({"alloc", "sh", "-c", "echo up; exec sleep 60"});
  EXPECT_EQ(cancelled.read_line(), "up");
  sandbox.ok({"cancel", "2"});
  const Ran ran = cancelled.finish();
  EXPECT_EQ(ran.code, 125);
  EXPECT_THAT(ran.err, HasSubstr("job 2: cancelled by a user; alloc ends"));

  Process orphan = sandbox.start({"alloc", "sh", "-c", "echo up; exec sleep 60"});
  EXPECT_EQ(orphan.read_line(), "up");
  sandbox.run({"shutdown"});
  const Ran left = orphan.finish();
  EXPECT_EQ(left.code, 125);
  EXPECT_THAT(left.err, HasSubstr("alloc ends"));
  instance.end();  // its initial program was ended
}

// As where a slow machine takes longer to start the child than the child may live.
TEST(User, AnAllocationThatEndsBeforeItIsUpSaysWhyToo) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const Ran limited = sandbox.run({"alloc", "-t", "1ms", "sh", "-c", "echo still here"});
  EXPECT_EQ(limited.code, 124);
  EXPECT_THAT(limited.err, HasSubstr("job 1: its time limit was reached"));
  EXPECT_EQ(limited.out, "");
}

TEST(User, WhatIsWrongWithTheResourcesIsAMistakeOnTheCommandLine) {
  Sandbox sandbox;
  const auto refused = [&](const std::string& what) {
    const Ran ran = sandbox.run({"start", "--resources", what, "true"});
    EXPECT_EQ(ran.code, 2) << what;
    return ran.err;
  };
  EXPECT_THAT(refused("/none-such"),
              HasSubstr("holon start: --resources /none-such: no such file"));
  const std::string loop = sandbox.folder() + "/loop";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_THAT(refused(loop), HasSubstr("--resources " + loop + ": Too many levels of symbolic"));
  EXPECT_THAT(refused("node=4"), HasSubstr("node=4/core=8"));
  EXPECT_THAT(refused("node=x/core=2"), HasSubstr("holon start: --resources node=x/core=2"));
  const std::string file = sandbox.write_file("notes", "some notes");
  EXPECT_THAT(refused(file), HasSubstr("neither JGF, Rv1, hwloc XML nor a resource database"));
  EXPECT_THAT(refused(sandbox.folder()), HasSubstr("a folder"));
}

TEST(User, ATimeLimitOfTheInstanceIsSaid) {
  Sandbox sandbox;
  const Ran ran = sandbox.run({"start", "--resources", "node=1/core=1", "-t", "1s", "sleep", "60"});
  EXPECT_EQ(ran.code, 124);
  EXPECT_THAT(ran.err, HasSubstr("its time limit was reached"));
}

TEST(User, ATimeLimitThatIsOverBeforeTheInstanceIsUpIsSaidToo) {
  Sandbox sandbox;
  const Ran ran =
      sandbox.run({"start", "--resources", "node=1/core=1", "-t", "1ms", "sleep", "60"});
  EXPECT_EQ(ran.code, 124);
  EXPECT_THAT(ran.err, HasSubstr("its time limit was reached"));
}

TEST(User, ASecondInstanceOnTheSameCoresIsWarnedOf) {
  Sandbox sandbox;
  Instance first(sandbox, {});
  const Ran second = sandbox.run({"start", "true"});
  EXPECT_EQ(second.code, 0);
  EXPECT_THAT(second.err, HasSubstr("gives out this machine's cores already"));
  EXPECT_THAT(second.err, HasSubstr(first.uri()));
  EXPECT_EQ(sandbox.run({"start", "--resources", "node=1/core=1", "true"}).err, "");
}

// It keeps what was declared for it, whether it was there first or comes second.
TEST(User, AnInstanceThatKeepsItsDeclaredResourcesIsWarnedOfByNobody) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/kept";
  sandbox.ok({"start", "--state-dir", state, "--resources", "node=1/core=8", "true"});
  const auto shares = HasSubstr("gives out this machine's cores");
  {
    Instance first(sandbox, {"--state-dir", state});
    const Ran second = sandbox.run({"start", "true"});
    EXPECT_EQ(second.code, 0);
    EXPECT_THAT(second.err, Not(shares));
  }
  Instance first(sandbox, {});
  const Ran second = sandbox.run({"start", "--state-dir", state, "true"});
  EXPECT_EQ(second.code, 0);
  EXPECT_THAT(second.err, AllOf(HasSubstr("the resources that it was made with"), Not(shares)));
  EXPECT_THAT(sandbox.run({"start", "--state-dir", state, "--resources", "hwloc", "true"}).err,
              shares);
}

TEST(User, NoNodeJoinsAnInstanceThatKeepsItsDeclaredResources) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/kept";
  sandbox.ok({"start", "--state-dir", state, "--resources", "node=1/core=8", "true"});
  const Ran ran = sandbox.run({"start", "--state-dir", state, "--joinable", "true"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--state-dir " + state + ": no node can join"),
                             HasSubstr("--resources hwloc gives it this machine's")));
}

TEST(User, AStateDirectoryInUseIsSaidWithItsInstance) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/kept";
  Instance first(sandbox, {"--state-dir", state, "--resources", "node=1/core=1"});
  const Ran second =
      sandbox.run({"start", "--state-dir", state, "--resources", "node=1/core=1", "true"});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("HOLON_URI=" + first.uri()));
  EXPECT_THAT(second.err, HasSubstr("since "));
}

TEST(User, ANodeWithAJobOnItIsNotFree) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", "node=4/core=4"});
  sandbox.ok({"submit", "-c", "3", "sleep", "60"});
  Process watch = sandbox.start({"job", "eventlog", "-f", "1"});
  while (watch.read_line().find("start") == std::string::npos) continue;
  const auto list = sandbox.json({"resource", "list"});
  EXPECT_EQ(list["total"]["node"], 4);
  EXPECT_EQ(list["free"]["node"], 3);
  EXPECT_EQ(list["free"]["core"], 13);
  sandbox.ok({"cancel", "1"});
  watch.finish();
}

TEST(User, WhoWaitsIsToldWhy) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  sandbox.ok({"submit", "-c", "2", "sleep", "60"});
  Process run = sandbox.start({"run", "true"});
  EXPECT_EQ(run.read_error_line(),
            "holon run: job 2 waits: the processor it needs is not free: all 2 are in use");
  sandbox.ok({"cancel", "1"});
  EXPECT_EQ(run.finish().code, 0);
}

TEST(User, MessagesNameWhatWasTyped) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  EXPECT_THAT(sandbox.run({"run", "-n", "4", "-c", "2", "true"}).err,
              HasSubstr("asks for 4 tasks of 2 cores; this instance can hold 1 at most (2 cores)"));
  sandbox.run({"run", "--name", "a\x1b[31mb", "ls -la"});
  const std::string info = sandbox.ok({"job", "info", "2"});
  EXPECT_THAT(info, Not(HasSubstr("\x1b")));
  EXPECT_THAT(info, HasSubstr("it holds a blank"));
  EXPECT_THAT(sandbox.run({"-i", "/2", "jobs"}).err, HasSubstr("/2 is a job, not an instance"));
  sandbox.ok({"submit", "--urgency", "hold", "true"});
  sandbox.ok({"cancel", "3"});
  EXPECT_THAT(sandbox.ok({"tree"}), HasSubstr("1 cancelled"));
  EXPECT_THAT(sandbox.ok({"job", "info", "3"}), Not(HasSubstr("started")));
}

// The supervisor waits longer with each crash; who asks meanwhile waits, too.
TEST(User, ABrokerThatIsStartedAgainIsWaitedFor) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  for (int crash = 0; crash < 3; ++crash) {
    const auto brokers = sandbox.processes({"holon broker "});
    ASSERT_EQ(brokers.size(), 1u);
    kill(brokers.front(), SIGKILL);
    const Ran ran = sandbox.run({"run", "--input", "none", "echo", "served"});
    EXPECT_EQ(ran.out, "served\n") << ran.err;
  }
}

TEST(User, AFileWhereOutputsBelongKeepsNoJobFromRunning) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/state";
  std::filesystem::create_directory(state);
  std::filesystem::permissions(state, std::filesystem::perms::owner_all);
  sandbox.write_file("state/output", "mine");
  Instance instance(sandbox, {"--resources", "node=1/core=2", "--state-dir", state});
  sandbox.ok({"submit", "echo", "served"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.ok({"job", "output", "1"}), "served\n");
  EXPECT_THAT(instance.end().err, HasSubstr("is kept as " + state));
}

// The supervisor makes it again within a second; who asks meanwhile is not told that all is over.
TEST(User, ARuntimeDirectoryThatWasRemovedIsWaitedFor) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const std::string uri = instance.uri();
  const auto dir = std::filesystem::path(uri.substr(std::string("ipc://").size())).parent_path();
  for (const bool is_named : {false, true}) {
    if (is_named) sandbox.environment()["HOLON_URI"] = uri;
    std::error_code again;  // it is being made again
    std::filesystem::remove_all(dir, again);
    const Ran ran = sandbox.run({"run", "--input", "none", "echo", "served"});
    EXPECT_EQ(ran.out, "served\n") << ran.err;
  }
}

}  // namespace
}  // namespace holon::system_test
