// Slurm's commands, answered by holon, as scripts and executors call them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class SlurmTools : public testing::Test {
 protected:
  SlurmTools() {
    sandbox_.ok({"slurm-tools", folder()});
    sandbox_.environment()["PATH"] = folder() + ":" + sandbox_.environment()["PATH"];
  }
  std::string folder() const { return sandbox_.folder() + "/tools"; }

  // What a shell line prints, beside an instance of two nodes.
  std::string shell(const std::string& line) {
    Process process({"/bin/sh", "-c", line}, sandbox_.environment(), sandbox_.folder());
    const auto ran = process.finish();
    code_ = ran.code;
    err_ = ran.err;
    return ran.out;
  }
  void write_script(const std::string& name, const std::string& text) {
    sandbox_.write_file(name, "#!/bin/sh\n" + text, true);
  }

  Sandbox sandbox_;
  Instance instance_{sandbox_, {"--resources", "node=2/core=4"}};
  int code_ = -1;
  std::string err_;
};

TEST_F(SlurmTools, SubmitWaitAndAccountForAScript) {
  write_script(
      "fit.sh",
      "#SBATCH --job-name=fit -n 1 -c 2 -t 10\n"
      "echo \"job $SLURM_JOB_ID of $SLURM_JOB_NAME on $SLURM_JOB_NODELIST: $1\"\nexit 3\n");
  EXPECT_EQ(shell("sbatch fit.sh data.csv"), "Submitted batch job 1\n") << err_;
  EXPECT_EQ(shell("sbatch --parsable --wait fit.sh other.csv"), "2\n");
  EXPECT_EQ(code_, 3) << "the script's";
  EXPECT_THAT(sandbox_.read_file("slurm-2.out"),
              MatchesRegex("job 2 of fit on [^ ]+: other.csv\n"));
  EXPECT_EQ(shell("sacct -nXP -j 2 -o JobID,JobName,State,ExitCode,AllocCPUS,Timelimit"),
            "2|fit|FAILED|3:0|2|00:10:00\n");
  EXPECT_THAT(shell("sacct -nP -j 2 -o JobID"), AllOf(HasSubstr("2\n"), HasSubstr("2.batch\n")));
}

TEST_F(SlurmTools, TheCommandLineStandsInForTheScript) {
  write_script("two.sh", "#SBATCH -J script -n 2\necho tasks $SLURM_NTASKS\n");
  EXPECT_EQ(shell("sbatch -J typed -n 1 -W --parsable two.sh"), "1\n") << err_;
  EXPECT_EQ(sandbox_.read_file("slurm-1.out"), "tasks 1\n");
  EXPECT_EQ(shell("sacct -nXP -j 1 -o JobName,NCPUS"), "typed|1\n");
  shell("SBATCH_JOB_NAME=preset sbatch -W two.sh");
  EXPECT_EQ(shell("sacct -nXP -j 2 -o JobName"), "preset\n");
}

TEST_F(SlurmTools, AScriptOfSeveralTasksHasItsSteps) {
  write_script("steps.sh",
               "#SBATCH -N 2 --ntasks-per-node=2 -o steps.log\n"
               "srun sh -c 'echo rank $SLURM_PROCID'\nsqueue -h -o %i,%T\nsbatch --wrap true\n");
  EXPECT_EQ(shell("sbatch -W --parsable steps.sh"), "1\n") << err_;
  EXPECT_EQ(code_, 0);
  const std::string log = sandbox_.read_file("steps.log");
  for (const char* const rank : {"0", "1", "2", "3"})
    EXPECT_THAT(log, HasSubstr(std::string("rank ") + rank + "\n"));
  EXPECT_THAT(log, HasSubstr("1,RUNNING\n")) << "the script is a job of the instance around";
  EXPECT_THAT(log, HasSubstr("Submitted batch job 2\n"));
  EXPECT_EQ(shell("scontrol show job 2 >/dev/null && echo it outlives the script"),
            "it outlives the script\n");
}

TEST_F(SlurmTools, ListWhatWaitsAndRuns) {
  write_script("wait.sh", "read line < " + sandbox_.folder() + "/gate\n");
  shell("mkfifo gate");
  EXPECT_EQ(shell("sbatch --parsable -N 2 --ntasks-per-node=4 wait.sh"), "1\n") << err_;
  EXPECT_EQ(shell("sbatch --parsable -n 4 -t 5 --wrap true; sbatch --parsable -H --wrap true"),
            "2\n3\n");
  ASSERT_EQ(sandbox_.json({"jobs", "1"})["jobs"][0]["id"], 1);
  EXPECT_THAT(shell("squeue -h -t PD -o '%i|%j|%t|%l|%D|%R'"),
              AllOf(HasSubstr("2|wrap|PD|5:00|1|(Resources)\n"),
                    HasSubstr("3|wrap|PD|UNLIMITED|1|(JobHeldUser)\n")));
  EXPECT_THAT(shell("scontrol -o show job 2"),
              AllOf(StartsWith("JobId=2 JobName=wrap UserId="), HasSubstr(" JobState=PENDING "),
                    HasSubstr(" Reason=Resources "), HasSubstr(" NumTasks=4 CPUs/Task=1 "),
                    HasSubstr(" WorkDir=" + sandbox_.folder() + " ")));
  EXPECT_EQ(shell("scancel 2; squeue -h -j 2 -t all -o %T"), "CANCELLED\n");
  EXPECT_EQ(shell("scancel -n wrap -t PENDING; squeue -h -o %i"), "1\n");
  EXPECT_EQ(shell("scancel 77"), "");
  EXPECT_EQ(code_, 1);
  EXPECT_EQ(err_, "scancel: error: Kill job error on job id 77: Invalid job id specified\n");
  EXPECT_EQ(shell("squeue -j 77"), "");
  EXPECT_EQ(err_, "slurm_load_jobs error: Invalid job id specified\n");
  shell("echo > gate");
  sandbox_.ok({"job", "wait", "1"});
}

TEST_F(SlurmTools, ArraysHaveARowForWhatWaits) {
  shell("mkfifo gate");
  EXPECT_EQ(shell("sbatch --parsable -a 1-20%2 --wrap 'read x < " + sandbox_.folder() + "/gate'"),
            "1\n")
      << err_;
  const std::string rows = shell(
      "until [ $(squeue -h -t R -o %i | wc -l) = 2 ]; do :; done; squeue -h -o '%i|%t|%F|%K'");
  EXPECT_THAT(rows, AllOf(HasSubstr("1_1|R|1|1\n"), HasSubstr("1_2|R|1|2\n"),
                          HasSubstr("1_[3-20]|PD|1|3-20\n")));
  EXPECT_EQ(shell("squeue -h -r -o %i | wc -l"), "20\n");
  EXPECT_EQ(shell("squeue -h -j 1_7 -o '%i|%t'"), "1_7|PD\n") << "one that is named by itself";
  EXPECT_EQ(shell("sacct -nXP -j 1_7 -o JobID,State"), "1_7|PENDING\n");
  EXPECT_EQ(shell("scancel '1_[3-20]'; squeue -h -o %i"), "1_1\n1_2\n");
  EXPECT_EQ(shell("scancel 1; until [ -z \"$(squeue -h)\" ]; do :; done; sacct -nXP -j 1_7 -o "
                  "JobID,State"),
            "1_7|CANCELLED\n");
}

TEST_F(SlurmTools, NodesAndPartitionsAreThoseOfTheInstance) {
  EXPECT_THAT(shell("sinfo"),
              AllOf(StartsWith("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"),
                    HasSubstr("default*     up   infinite      2   idle ")));
  EXPECT_EQ(shell("sinfo -h -o '%P %D %c %C'"), "default* 2 4 0/8/0/8\n");
  EXPECT_THAT(shell("scontrol show partition"), StartsWith("PartitionName=default\n"));
  EXPECT_THAT(shell("scontrol -o show nodes"), HasSubstr(" CPUAlloc=0 CPUTot=4 "));
  EXPECT_EQ(shell("scontrol ping"), "Slurmctld(primary) at holon is UP\n");
}

TEST_F(SlurmTools, ALoopOfScriptsRunsInTheOrderOfItsDependencies) {
  write_script("step.sh", "echo $1 >> order\n");
  EXPECT_EQ(shell("id=$(sbatch --parsable step.sh 1)\n"
                  "for i in 2 3 4; do id=$(sbatch --parsable -d afterok:$id step.sh $i); done\n"
                  "sbatch -W -d afterok:$id step.sh 5 > /dev/null; cat order"),
            "1\n2\n3\n4\n5\n")
      << err_;
}

TEST_F(SlurmTools, WhatIsWrongIsSaidAsSlurmSaysIt) {
  EXPECT_EQ(shell("sbatch no.sh"), "");
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(err_, StartsWith("sbatch: error: Unable to open file no.sh"));
  sandbox_.write_file("text.txt", "no script\n");
  EXPECT_EQ(shell("sbatch text.txt"), "");
  EXPECT_THAT(err_, StartsWith("sbatch: error: This does not look like a batch script."));
  EXPECT_EQ(shell("sbatch --frob --wrap true"), "");
  EXPECT_EQ(err_, "sbatch: error: unknown option: --frob\n");
  EXPECT_EQ(shell("sbatch -c 99 --wrap true"), "");
  EXPECT_THAT(err_, AllOf(StartsWith("sbatch: error: "), Not(HasSubstr("holon submit"))));
  EXPECT_EQ(shell("HOLON_URI=ipc:///nowhere/broker squeue"), "");
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(err_, StartsWith("squeue: error: Unable to contact a holon instance: "));
}

TEST_F(SlurmTools, LinksAreNotPutOverOtherFiles) {
  std::filesystem::create_directories(sandbox_.folder() + "/mine");
  std::ofstream(sandbox_.folder() + "/mine/sinfo") << "mine\n";
  const auto ran = sandbox_.run({"slurm-tools", sandbox_.folder() + "/mine"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("no link to this holon"));
  EXPECT_FALSE(std::filesystem::exists(sandbox_.folder() + "/mine/sbatch")) << "all or none";
  EXPECT_EQ(sandbox_.run({"slurm-tools", folder()}).code, 0) << "a second time";
}

TEST_F(SlurmTools, SallocRunsACommandInAnAllocation) {
  EXPECT_EQ(shell("salloc -n 2 sh -c 'srun -n 2 echo in'"), "in\nin\n") << err_;
  EXPECT_EQ(code_, 0);
}

}  // namespace
}  // namespace holon::system_test
