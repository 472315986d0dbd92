// srun in translated scripts: steps in the job's own instance, on a machine without Slurm.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Steps : public testing::Test {
 protected:
  // The output of a script in an instance of its own: two nodes of four cores.
  std::string output_of(const std::string& lines, const std::string& text) {
    sandbox_.write_file("job.sh", "#!/bin/sh\n" + lines + "#SBATCH -o job.log\n" + text, true);
    id_ = sandbox_.ok({"batch", "--translate", "job.sh"});
    id_.pop_back();
    code_ = sandbox_.run({"job", "wait", id_}).code;
    return sandbox_.read_file("job.log");
  }

  static std::size_t count(const std::string& text, const std::string& word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  }

  Sandbox sandbox_;
  Instance instance_{sandbox_, {"--resources", "node=2/core=4"}};
  std::string id_;
  int code_ = -1;
};

TEST_F(Steps, RunInTheJob) {
  const std::string out =
      output_of("#SBATCH -n 4\n",
                "srun -n 4 sh -c 'echo many $SLURM_PROCID'\n"
                "srun --ntasks=2 --cpus-per-task=2 sh -c 'echo wide $SLURM_CPUS_PER_TASK' &\n"
                "wait\nsrun echo all\nsrun -n1 --exclusive echo one\n");
  EXPECT_EQ(code_, 0) << out;
  for (const char* rank : {"0", "1", "2", "3"})
    EXPECT_THAT(out, HasSubstr(std::string("many ") + rank + "\n"));
  EXPECT_EQ(count(out, "wide 2\n"), 2U);
  EXPECT_EQ(count(out, "all\n"), 4U) << "as many as the job has: " << out;
  EXPECT_EQ(count(out, "one\n"), 1U);
  EXPECT_EQ(sandbox_.json({"jobs", "-a"})["jobs"].size(), 1U) << "in its own instance alone";
}

TEST_F(Steps, TellTheirTasksWhichStepTheyAreOf) {
  const std::string show =
      "'echo $SLURM_JOB_ID.$SLURM_STEP_ID: $SLURM_PROCID of $SLURM_NTASKS, $SLURM_LOCALID on "
      "$SLURM_NODEID, $SLURM_STEP_NUM_NODES of $SLURM_JOB_NUM_NODES nodes, "
      "$SLURM_STEP_TASKS_PER_NODE tasks each'\n";
  const std::string out = output_of("#SBATCH -N 2 --ntasks-per-node=2\n",
                                    "srun sh -c " + show + "srun -N 1 -n 1 sh -c " + show);
  EXPECT_EQ(code_, 0) << out;
  for (const char* place : {"0 of 4, 0 on 0", "1 of 4, 1 on 0", "2 of 4, 0 on 1", "3 of 4, 1 on 1"})
    EXPECT_THAT(out,
                HasSubstr(fmt::format("{}.0: {}, 2 of 2 nodes, 2(x2) tasks each\n", id_, place)));
  EXPECT_THAT(out,
              HasSubstr(fmt::format("{}.1: 0 of 1, 0 on 0, 1 of 2 nodes, 1 tasks each\n", id_)));
}

// "step creation temporarily disabled, retrying": each is seen to be alone on the cores.
TEST_F(Steps, ThatShareTheCoresWaitForEachOther) {
  const std::string out = output_of(
      "#SBATCH -n 2\n",
      "for i in 1 2 3; do\n"
      "srun -n 2 sh -c 'test $SLURM_PROCID = 1 || { mkdir busy && echo alone && rmdir busy; }' &\n"
      "done\nwait\n");
  EXPECT_EQ(count(out, "alone\n"), 3U) << out;
}

TEST_F(Steps, ThatFitBesideEachOtherRunBesideEachOther) {
  const std::string out = output_of("#SBATCH -n 2\n",
                                    "mkfifo pipe\nsrun -n 1 sh -c 'echo met > pipe' &\n"
                                    "srun -n 1 cat pipe\nwait\n");
  EXPECT_EQ(code_, 0);
  EXPECT_EQ(out, "met\n");
}

TEST_F(Steps, ThatTheJobCannotHoldAreRefused) {
  const std::string out =
      output_of("#SBATCH -n 2\n", "srun -n 3 true\necho code $?\nsrun --multi-prog conf\n");
  EXPECT_THAT(out, AllOf(HasSubstr("holon run: "), HasSubstr("code 125\n"),
                         HasSubstr("srun: --multi-prog: a step is one program")));
  EXPECT_EQ(code_, 1) << "the script ends with the code of the last one";
}

TEST_F(Steps, PassOnWhatTheirTasksEndWith) {
  const std::string out =
      output_of("", "srun sh -c 'exit 7'\necho code $?\nsrun -t 1 no-such-program; echo $?\n");
  EXPECT_THAT(out, AllOf(HasSubstr("code 7\n"), HasSubstr("127\n")));
}

// What a script's own srun runs may call srun, too.
TEST_F(Steps, AreOfTheJobAlsoWhereATaskMakesThem) {
  const std::string out = output_of(
      "#SBATCH -n 2\n",
      "srun -n 1 sh -c 'srun -n 1 sh -c \"echo inner \\$SLURM_JOB_ID.\\$SLURM_STEP_ID\"'\n");
  EXPECT_EQ(out, fmt::format("inner {}.1\n", id_));
}

TEST_F(Steps, HaveTheFilesTheyName) {
  output_of("#SBATCH -n 2 -J fit\n", "srun -o %x-%j-%t.txt sh -c 'echo $SLURM_PROCID'\n");
  EXPECT_EQ(sandbox_.read_file(fmt::format("fit-{}-0.txt", id_)), "0\n");
  EXPECT_EQ(sandbox_.read_file(fmt::format("fit-{}-1.txt", id_)), "1\n");
}

// What an array of Slurm's has in each of its tasks.
TEST_F(Steps, OfOneTaskRunInPlaceWhereTheJobHasNoInstance) {
  sandbox_.write_file("array.sh",
                      "#!/bin/sh\n#SBATCH --array=1-2 -c 2\n"
                      "srun -n 1 sh -c 'echo $SLURM_ARRAY_TASK_ID $SLURM_PROCID $SLURM_NTASKS "
                      "$SLURM_STEP_ID'\nsrun -n 2 true\n",
                      true);
  sandbox_.ok({"submit", "--translate", "./array.sh"});
  EXPECT_EQ(sandbox_.run({"job", "wait", "1"}).code, 1);
  const Ran ran = sandbox_.run({"output", "1"});
  const std::string out = ran.out + ran.err;
  for (const char* line : {"1 0 1 0\n", "2 0 1 0\n"}) EXPECT_THAT(out, HasSubstr(line));
  EXPECT_THAT(out, HasSubstr("srun: this job has one task, and the step 2; `holon batch "
                             "--translate` runs the script in an instance"));
  EXPECT_EQ(sandbox_.json({"jobs", "-a"})["jobs"].size(), 1U) << "no step became a job beside it";
}

TEST_F(Steps, OfAScriptThatEachTaskRunsAreRefused) {
  sandbox_.write_file("wide.sh", "#!/bin/sh\n#SBATCH -n 2\nsrun true\n", true);
  const Ran ran = sandbox_.run({"run", "--translate", "./wide.sh"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("srun: each of the 2 tasks of this job runs the script"));
}

TEST_F(Steps, AreFoundBeforeAnSrunOfTheMachine) {
  std::filesystem::create_directory(sandbox_.folder() + "/own");
  sandbox_.write_file("own/srun", "#!/bin/sh\necho that of the machine\n", true);
  sandbox_.environment()["PATH"] = sandbox_.folder() + "/own:" + sandbox_.environment()["PATH"];
  const std::string out = output_of("", "srun echo ours\n");
  EXPECT_THAT(out, AllOf(HasSubstr("ours\n"), Not(HasSubstr("machine"))));
}

}  // namespace
}  // namespace holon::system_test
