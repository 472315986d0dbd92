// What `holon start` makes of batch systems and cgroups around it, where their variables and
// commands are the test's.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A batch job, and a command of the batch system that answers with what the file "answer" says.
void put_in_batch_job(Sandbox& sandbox, const std::map<std::string, std::string>& variables,
                      const std::string& command) {
  for (const auto& [name, value] : variables) sandbox.environment()[name] = value;
  sandbox.write_file(command,
                     "#!/bin/sh\necho \"$@\" >> " + sandbox.folder() + "/asked\ncat " +
                         sandbox.folder() + "/answer\n",
                     true);
  sandbox.environment()["PATH"] = sandbox.folder() + ":" + sandbox.environment()["PATH"];
}

Ran start(Sandbox& sandbox, std::vector<std::string> words) {
  words.insert(words.begin(), "start");
  return sandbox.run(words);
}

TEST(Surroundings, OneTaskOfSeveralIsRefusedWithACodeOfItsOwn) {
  Sandbox sandbox;
  sandbox.environment()["OMPI_COMM_WORLD_SIZE"] = "4";
  sandbox.environment()["OMPI_COMM_WORLD_RANK"] = "2";
  const Ran refused = start(sandbox, {"--resources", "node=1/core=1", "true"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              HasSubstr("OMPI_COMM_WORLD_SIZE=4: this is task 2 of 4 that mpirun has started"));
  EXPECT_THAT(refused.err, HasSubstr("--here"));
  const Ran here = start(sandbox, {"--here", "--resources", "node=1/core=1", "true"});
  EXPECT_EQ(here.code, 0) << here.err;
}

// An MPI program that a job runs would take the descriptor of the launcher around for its own.
TEST(Surroundings, ThePlaceInTheStepAroundIsNotThatOfTheJobs) {
  Sandbox sandbox;
  sandbox.environment()["PMI_SIZE"] = "1";
  sandbox.environment()["PMI_RANK"] = "0";
  sandbox.environment()["PMI_FD"] = "17";
  sandbox.environment()["SLURM_PROCID"] = "3";
  sandbox.environment()["SLURM_JOB_NODELIST"] = "n[1-4]";
  sandbox.environment()["NOTIFY_SOCKET"] = "/run/none";
  sandbox.environment()["SLURM_JOB_NAME"] = "kept";
  const Ran passed = start(sandbox, {"--here", "--resources", "node=1/core=1", "holon", "run",
                                     "--env", "SLURM_*", "printenv", "SLURM_JOB_NODELIST"});
  EXPECT_EQ(passed.out, "n[1-4]\n") << "it was asked for";
  const Ran ran = start(sandbox, {"--resources", "node=1/core=1", "holon", "run", "env"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* name : {"PMI_", "SLURM_PROCID", "SLURM_JOB_NODELIST", "NOTIFY_SOCKET"})
    EXPECT_THAT(ran.out, Not(HasSubstr(name)));
  EXPECT_THAT(ran.out, HasSubstr("SLURM_JOB_NAME=kept"));
}

TEST(Surroundings, TheWalltimeIsAskedForBeforeTheInitialProgramRuns) {
  Sandbox sandbox;
  put_in_batch_job(sandbox, {{"LSB_JOBID", "77"}, {"LSB_MCPU_HOSTS", "a 1"}}, "bjobs");
  sandbox.write_file("answer", "2:00 L\n");
  const Ran ran = start(sandbox, {"--resources", "node=1/core=1", "holon", "uptime"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("1h59m left"));
  EXPECT_THAT(sandbox.read_file("asked"), HasSubstr("-noheader -o time_left 77"));
}

TEST(Surroundings, NobodyIsAskedWhereThatIsSwitchedOff) {
  for (const char* setting : {"batch.follow-walltime=false", "batch.system=none"}) {
    Sandbox sandbox;
    put_in_batch_job(sandbox, {{"LSB_JOBID", "77"}}, "bjobs");
    sandbox.write_file("answer", "2:00 L\n");
    const Ran ran =
        start(sandbox, {"--conf", setting, "--resources", "node=1/core=1", "holon", "uptime"});
    EXPECT_THAT(ran.out, Not(HasSubstr(" left"))) << ran.err;
    EXPECT_EQ(sandbox.read_file("asked"), "");
  }
}

TEST(Surroundings, ABatchSystemThatDoesNotAnswerIsSaidAndKeepsNobodyWaiting) {
  Sandbox sandbox;
  put_in_batch_job(sandbox, {{"SLURM_JOB_ID", "5"}}, "squeue");
  sandbox.write_file("squeue", "#!/bin/sh\necho no contact >&2\nexit 1\n", true);
  const Ran ran = start(sandbox, {"--resources", "node=1/core=1", "echo", "runs"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "runs\n");
  EXPECT_THAT(ran.err,
              HasSubstr("the walltime of Slurm job 5 cannot be asked for: squeue: no contact"));
}

// The end stands in a variable (Slurm since 23.02), and the command is not there.
TEST(Surroundings, AWalltimeOfLessThanTheMarginEndsTheInstanceAtOnce) {
  Sandbox sandbox;
  put_in_batch_job(
      sandbox, {{"SLURM_JOB_ID", "5"}, {"SLURM_JOB_END_TIME", std::to_string(time(nullptr) + 20)}},
      "unused");
  sandbox.write_file("squeue", "#!/bin/sh\nexit 1\n", true);
  const Ran ran = start(sandbox, {"--resources", "node=1/core=1", "sleep", "1000"});
  EXPECT_EQ(ran.code, 124) << "the initial program never ran: its time was over";
  EXPECT_THAT(ran.err, HasSubstr("the walltime of Slurm job 5 leaves less than batch.margin"));
}

// salloc's shell runs where it was typed.
TEST(Surroundings, AHostThatIsNoneOfTheNodesIsSaid) {
  Sandbox sandbox;
  sandbox.environment()["SLURM_JOB_ID"] = "5";
  sandbox.environment()["SLURM_JOB_NODELIST"] = "some-other-host";
  const Ran ran = start(
      sandbox, {"--conf", "batch.follow-walltime=false", "--resources", "node=1/core=1", "true"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(
      ran.err,
      HasSubstr(
          "Slurm job 5 has 1 node; this instance is of this host only, which is none of them"));
}

class WarningSignal : public testing::TestWithParam<int> {};

// Slurm's --signal, Grid Engine's -notify, LSF's run limit.
TEST_P(WarningSignal, EndsTheInstanceInOrder) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/kept";
  Process instance =
      sandbox.start({"start", "--state-dir", state, "--resources", "node=1/core=1", "sh", "-c",
                     "holon submit sleep 1000; echo up; exec sleep 1000"});
  instance.read_line();
  ASSERT_EQ(instance.read_line(), "up");
  instance.signal(GetParam());
  const Ran ran = instance.finish();
  EXPECT_EQ(ran.code, 128 + SIGTERM) << "of the initial program";
  EXPECT_THAT(ran.err, HasSubstr(fmt::format("got SIG{}, a batch system's warning",
                                             sigabbrev_np(GetParam()))));
  EXPECT_EQ(sandbox.run({"journal", "check", state}).code, 0);
  EXPECT_THAT(sandbox.ok({"journal", "export", state}), HasSubstr("its instance ended"));
}

INSTANTIATE_TEST_SUITE_P(All, WarningSignal, testing::Values(SIGUSR1, SIGUSR2, SIGXCPU));

// What was granted by number: one CPU and 1,500 MB of a machine that has more.
TEST(Surroundings, WhatWasGrantedIsWhatIsOffered) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "this machine has one CPU only";
  Sandbox sandbox;
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"SLURM_JOB_ID", "5"}, {"SLURM_CPUS_ON_NODE", "1"}, {"SLURM_MEM_PER_NODE", "1500"}})
    sandbox.environment()[name] = value;
  const Ran ran = start(sandbox, {"--verbose", "--conf", "batch.follow-walltime=false", "sh", "-c",
                                  "holon resource R; holon run -n1 sh -c 'taskset -p $$ || true'"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("cores are offered: Slurm job 5 grants 1 CPU here"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("\"core\": *\"0\"")) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("\"x-memory\": {\"0\": 1}"));
}

// A cgroup of one and a half CPUs, entered by the shell that starts the instance.
TEST(Surroundings, CpuTimeOfTheCgroupBoundsTheCores) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "this machine has one CPU only";
  const std::string name = "/holon-test-" + std::to_string(getpid());
  const std::string v1 = "/sys/fs/cgroup/cpu" + name, v2 = "/sys/fs/cgroup" + name;
  const auto make = [](const std::string& folder, const char* file, const char* text) {
    if (mkdir(folder.c_str(), 0755) != 0) return false;
    std::ofstream out(folder + file);
    return static_cast<bool>(out << text << std::flush);
  };
  const std::string made = make(v1, "/cpu.cfs_quota_us", "150000") ? v1
                           : make(v2, "/cpu.max", "150000 100000") ? v2
                                                                   : "";
  if (made.empty()) {
    rmdir(v1.c_str());
    rmdir(v2.c_str());
    GTEST_SKIP() << "no cgroup with a limit of CPU time can be made here: that needs root";
  }
  {
    Sandbox sandbox;
    const auto cores = [&](const std::string& setting) {
      const std::string line = fmt::format(
          "echo $$ > {}/cgroup.procs; exec {} start --conf resource.cgroup-limits={} "
          "holon uptime",
          made, HOLON_BINARY, setting);
      return Process({"/bin/sh", "-c", line}, sandbox.environment(), sandbox.folder()).finish().out;
    };
    EXPECT_THAT(cores("true"), HasSubstr("of 1 cores free"));
    EXPECT_THAT(cores("false"), Not(HasSubstr("of 1 cores free")));
  }
  EXPECT_EQ(rmdir(made.c_str()), 0);
}

}  // namespace
}  // namespace holon::system_test
