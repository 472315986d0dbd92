// Scripts that bring their options along, run by a real instance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kCoresOfScripts = {"--resources", "node=1/core=4"};

TEST(Scripts, AJobRunsWithTheOptionsOfItsScript) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("fit.sh",
                     "#!/bin/sh\n#HOLON -n 2 --name fit -o fit.log --env WORD='two words'\n"
                     "echo \"task $HOLON_TASK_RANK: $WORD\"\n",
                     true);
  const auto id = sandbox.ok({"submit", "-t", "5m", "./fit.sh"});
  EXPECT_EQ(id, "1\n");
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.json({"job", "info", "1"})["name"], "fit");
  const auto text = sandbox.read_file("fit.log");
  EXPECT_THAT(text, HasSubstr("task 0: two words\n"));
  EXPECT_THAT(text, HasSubstr("task 1: two words\n"));
}

TEST(Scripts, AChildInstanceHasTheSlotsOfItsScript) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("campaign.sh",
                     "#!/bin/sh\n#HOLON -n 3 -o campaign.log --conf queue.policy=easy\n"
                     "holon run -n 3 echo done\n",
                     true);
  sandbox.ok({"batch", "campaign.sh"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("campaign.log"), "done\ndone\ndone\n");
}

// Every command loads what the program is linked with.
TEST(Scripts, ACommandLoadsNoLibraryThatOnlyAReaderOfFilesCouldNeed) {
  Sandbox sandbox;
  const Ran ran = Process({"ldd", HOLON_BINARY}, sandbox.environment(), sandbox.folder()).finish();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("libstdc++"));
  for (const char* library : {"libicu", "libboost"})
    EXPECT_THAT(ran.out, testing::Not(HasSubstr(library)));
}

TEST(Scripts, AScriptOfSlurmsRunsOnceInAChildInstance) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("old.sh",
                     "#!/bin/sh\n#SBATCH --ntasks=2 --cpus-per-task=2 -J old -o %x-%j.log\n"
                     "echo began\nholon run -n 2 -c 2 echo done\n",
                     true);
  sandbox.ok({"batch", "--translate", "old.sh"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("old-1.log"), "began\ndone\ndone\n");
}

TEST(Scripts, AnArrayOfSlurmsIsAnArray) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("array.sh",
                     "#!/bin/sh\n#SBATCH --array=1,3-4%2 -o out-%A_%a.txt\n"
                     "echo index $HOLON_ARRAY_INDEX\n",
                     true);
  sandbox.ok({"submit", "--translate", "./array.sh"});
  sandbox.ok({"job", "wait", "1"});
  for (const char* index : {"1", "3", "4"})
    EXPECT_EQ(sandbox.read_file(std::string("out-1_") + index + ".txt"),
              std::string("index ") + index + "\n");
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["tasks"], 3);
}

// What nearly every such script reads.
TEST(Scripts, AnArrayOfSlurmsFindsItsNumbersByTheirNames) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("array.sh",
                     "#!/bin/bash\n#SBATCH --array=1-2,10-20:5 -c 2\ncd \"$SLURM_SUBMIT_DIR\"\n"
                     "echo \"$SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID, $SLURM_ARRAY_TASK_MIN to "
                     "$SLURM_ARRAY_TASK_MAX, $SLURM_CPUS_PER_TASK threads in $PWD\"\n",
                     true);
  sandbox.ok({"submit", "--translate", "./array.sh"});
  sandbox.ok({"job", "wait", "1"});
  const auto text = sandbox.ok({"output", "1"});
  for (const char* index : {"1", "2", "10", "15", "20"})
    EXPECT_THAT(text, HasSubstr(std::string(index) + " of 1, 1 to 20, 2 threads in " +
                                sandbox.folder() + "\n"));
}

// Commands in the script address the child, in which that number is another job's.
TEST(Scripts, ABatchScriptHasNoNumberOfAJobInItsOwnInstance) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  const std::string print = "echo \"[$HOLON_JOB_ID] $HOLON_JOB_PATH\"";
  sandbox.ok({"batch", "-o", "script.log", "--wrap", print});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("script.log"), "[] /1\n");
  EXPECT_THAT(sandbox.ok({"run", "sh", "-c", print}), HasSubstr("[2] /2"));
}

// As sbatch, qsub and flux batch take them.
TEST(Scripts, OnStandardInputAreTakenWithTheirOptions) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  const std::string script = "printf '#!/bin/sh\\n#HOLON -n 2 -J piped\\necho hi\\n' | ";
  const auto shell = [&](const std::string& line) {
    const std::string holon = "holon() { \"$0\" \"$@\"; }; ";
    return Process({"/bin/sh", "-c", holon + line, HOLON_BINARY}, sandbox.environment(),
                   sandbox.folder())
        .finish();
  };
  EXPECT_EQ(shell(script + "holon batch").out, "1\n");
  EXPECT_EQ(shell(script + "holon submit -").out, "2\n");
  EXPECT_EQ(shell("printf 'a\\nb\\n' | holon submit --each-line - echo").out, "3\n");
  sandbox.ok({"job", "wait", "--all"});
  EXPECT_EQ(sandbox.ok({"output", "1"}), "hi\n");
  EXPECT_EQ(sandbox.ok({"output", "2"}), "hi\nhi\n");
  EXPECT_EQ(sandbox.json({"job", "info", "2"})["name"], "piped");
  EXPECT_THAT(shell("holon batch </dev/null").err,
              HasSubstr("standard input: there is no script on it"));
  EXPECT_THAT(shell("echo true | holon batch").err,
              HasSubstr("standard input:1: a script begins with #!"));
}

// A campaign whose first job fails before its script comes to wait has failed all the same.
TEST(Scripts, WaitingForAllCountsWhatHadFailedBefore) {
  Sandbox sandbox;
  sandbox.write_file("campaign.sh",
                     "#!/bin/sh\nholon job wait --quiet $(holon submit false)\nholon submit true\n"
                     "holon job wait --all\n",
                     true);
  const Ran ran = sandbox.run({"start", "--resources", "node=1/core=2", "./campaign.sh"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("1 job that was over before did not complete"));
}

TEST(Scripts, OfSeveralJobsThatAreAskedForTheUnknownAreNamed) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.ok({"submit", "true"});
  sandbox.ok({"job", "wait", "1"});
  const Ran ran = sandbox.run({"jobs", "--format", "id,state", "1", "999"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("COMPLETED"));
  EXPECT_EQ(ran.err, "holon jobs: there is no job 999\n");
}

TEST(Scripts, RunAndAllocReadTheLinesOfTheirScripts) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("job.sh", "#!/bin/sh\n#HOLON -n 2 -l\necho done\n", true);
  const std::string both = sandbox.ok({"run", "./job.sh"});
  EXPECT_EQ(both.size(), std::string("0: done\n1: done\n").size()) << both;
  EXPECT_EQ(sandbox.ok({"run", "-n", "1", "./job.sh"}), "0: done\n") << "what is typed counts";
  sandbox.write_file("child.sh",
                     "#!/bin/sh\n#HOLON -n 3 --conf queue.policy=easy\nholon queue status\n", true);
  EXPECT_THAT(sandbox.ok({"alloc", "./child.sh"}), HasSubstr("easy"));
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][2]["ncores"], 3);
  sandbox.write_file("bad.sh", "#!/bin/sh\n#HOLON -q nowhere\n", true);
  const Ran ran = sandbox.run({"run", "./bad.sh"});
  EXPECT_THAT(ran.err, HasSubstr("holon run: ./bad.sh:2: --queue nowhere: "));
}

TEST(Scripts, WhatBatchPrintsIsAChildInstanceWhenItIsSubmitted) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("child.json", sandbox.ok({"batch", "--dry-run", "-n", "2", "-o", "child.log",
                                               "--wrap", "holon run -n 2 echo done"}));
  sandbox.ok({"submit", "--jobspec", "child.json"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("child.log"), "done\ndone\n");
}

TEST(Scripts, WhatTheInstanceRefusesIsToldWithTheLine) {
  Sandbox sandbox;
  Instance instance(sandbox, kCoresOfScripts);
  sandbox.write_file("fit.sh", "#!/bin/sh\n#HOLON -q nowhere\n", true);
  const Ran ran = sandbox.run({"submit", "./fit.sh"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("holon submit: ./fit.sh:2: --queue nowhere: "));
}

}  // namespace
}  // namespace holon::system_test
