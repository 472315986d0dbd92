// Signals to the commands that people start: those that are ignored stay so, those that mean
// something to a program reach the job's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

// As in a window that is closed: nohup(1) starts a program with SIGHUP ignored.
TEST(Signals, AnInstanceThatWasStartedWithNohupOutlivesItsTerminal) {
  Sandbox sandbox;
  sandbox.write_file("campaign.sh", "#!/bin/sh\necho began\nread line\nholon run echo done\n",
                     true);
  Process start({"nohup", HOLON_BINARY, "start", "--resources", "node=1/core=1", "./campaign.sh"},
                sandbox.environment(), sandbox.folder());
  ASSERT_EQ(start.read_line(), "began");
  start.signal(SIGHUP);
  for (const pid_t program : sandbox.processes({"campaign.sh"})) kill(program, SIGHUP);
  start.close_input();
  const Ran ran = start.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n");
}

TEST(Signals, ARunThatWasStartedWithNohupKeepsItsJob) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  Process run({"nohup", HOLON_BINARY, "run", "sh", "-c", "echo began; read line; echo done"},
              sandbox.environment(), sandbox.folder());
  ASSERT_EQ(run.read_line(), "began");
  run.signal(SIGHUP);
  run.close_input();
  const Ran ran = run.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n");
}

TEST(Signals, WhatMeansSomethingToAProgramReachesTheTasks) {
  for (const auto& [signal, name] :
       {std::pair(SIGUSR1, "USR1"), {SIGUSR2, "USR2"}, {SIGALRM, "ALRM"}, {SIGQUIT, "QUIT"}}) {
    SCOPED_TRACE(name);
    Sandbox sandbox;
    Instance instance(sandbox, kTwoCores);
    auto run = sandbox.start({"run", "sh", "-c",
                              std::string("trap 'echo got it; exit 7' ") + name +
                                  "; echo began; while :; do sleep 0.1; done"});
    ASSERT_EQ(run.read_line(), "began");
    run.signal(signal);
    const Ran ran = run.finish();
    EXPECT_EQ(ran.code, 7) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("got it\n"));
  }
}

// There is nobody yet whom it could reach: it ends what waits, as it would end a program.
TEST(Signals, OneThatComesBeforeTheJobRunsEndsIt) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  auto run = sandbox.start({"run", "--urgency", "hold", "true"});
  EXPECT_THAT(run.read_error_line(), HasSubstr("job 1"));
  run.signal(SIGUSR1);
  EXPECT_NE(run.finish().code, 0);
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["result"], "CANCELED");
}

}  // namespace
}  // namespace holon::system_test
