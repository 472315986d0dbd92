// `holon start` in a real Slurm.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "batch/allocation.hpp"
#include "batch/step.hpp"
#include "places.hpp"  // written by CMake
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Slurm : public WithSlurm {
 protected:
  Slurm() : WithSlurm(3, 4) {}

  std::string script(const std::string& text) {
    return sandbox_.write_file(fmt::format("script-{}.sh", ++scripts_),
                               fmt::format("#!/bin/sh\nholon={}\n{}\n", HOLON_BINARY, text), true);
  }

  // The next line that something writes into this pipe.
  std::string line_of(const std::string& pipe) {
    Process read({"/usr/bin/head", "-n1", pipe}, sandbox_.environment(), sandbox_.folder());
    std::string line = read.read_line();
    read.finish();
    return line;
  }
  std::string make_pipe(const std::string& name) {
    const std::string path = sandbox_.folder() + "/" + name;
    Process({"/usr/bin/mkfifo", path}, sandbox_.environment(), sandbox_.folder()).finish();
    return path;
  }

  int scripts_ = 0;
};

// One step besides those of the jobs' own, and of the CPUs that were granted.
TEST_F(Slurm, ABatchScriptHasOneInstanceOfAllItsNodes) {
  const std::string code = make_pipe("code");
  const auto campaign = script(
      "holon run -N3 -n3 sh -c 'echo place $HOLON_NODE_INDEX of $HOLON_NODELIST; test "
      "$HOLON_NODE_INDEX != 2 || holon jobs'\n"
      "holon uptime\nsqueue -h -s -j $SLURM_JOB_ID -o 'step %j'\nexit 7");
  const std::string job =
      slurm_->submit({"-N3", "-n3", "-t5"},
                     script(fmt::format("$holon start {}\necho code $? > {}", campaign, code)));
  EXPECT_EQ(line_of(code), "code 7");
  const std::string out = sandbox_.read_file("job-" + job);
  for (const char* place : {"0", "1", "2"})
    EXPECT_THAT(out, HasSubstr(fmt::format("place {} of n[1-3]\n", place)));
  EXPECT_THAT(out, HasSubstr("  RUN ")) << "as its last task sees it";
  EXPECT_THAT(out, HasSubstr(" of 3 cores free")) << "one CPU on each node was granted";
  EXPECT_THAT(out, HasSubstr("step holon\n"));
  EXPECT_EQ(out.find("step holon"), out.rfind("step holon"));
}

// Its parent's agents start what a child has on other nodes: Slurm starts nothing more.
TEST_F(Slurm, AChildLiesOnTwoNodesAndItsOwnOnOne) {
  const std::string code = make_pipe("code");
  const auto child = script(
      "holon run -N2 -n2 sh -c 'echo child $HOLON_NODE_INDEX of $HOLON_NODELIST; holon uptime'\n"
      "id=$(holon batch -N1 -n1 --wrap 'holon run echo grandchild at $HOLON_JOB_PATH')\n"
      "holon job wait $id; holon job output $id; holon tree -i /\n"
      "squeue -h -s -j $SLURM_JOB_ID -o 'step %j'\nexit 5");
  const auto campaign = script(
      fmt::format("id=$(holon batch -N2 -n2 --conf queue.policy=easy {})\n"
                  "holon job wait $id; echo child ended with $?; holon job output $id; exit 7",
                  child));
  const std::string job =
      slurm_->submit({"-N3", "-n3", "-t5"},
                     script(fmt::format("$holon start {}\necho code $? > {}", campaign, code)));
  EXPECT_EQ(line_of(code), "code 7");
  const std::string out = sandbox_.read_file("job-" + job);
  EXPECT_THAT(out, HasSubstr("child ended with 1\n"));
  for (const char* place : {"0", "1"})
    EXPECT_THAT(out, HasSubstr(fmt::format("child {} of n[", place)));
  EXPECT_THAT(out, HasSubstr(" of 2 cores free"));
  EXPECT_THAT(out, HasSubstr("grandchild at /1/2\n"));
  EXPECT_THAT(out, HasSubstr("easy"));
  EXPECT_EQ(out.find("step holon"), out.rfind("step holon"));
}

TEST_F(Slurm, ABatchScriptHasAnInstanceOfWhatItsNodeWasGranted) {
  const std::string code = make_pipe("code");
  const auto campaign = script("holon run -n1 echo on $SLURMD_NODENAME\nholon uptime\nexit 7");
  const std::string job = slurm_->submit(
      {"-N2", "-n2", "-t5"},
      script(fmt::format("$holon start --here {}\necho code $? > {}", campaign, code)));
  EXPECT_EQ(line_of(code), "code 7");
  const std::string out = sandbox_.read_file("job-" + job);
  EXPECT_THAT(out, HasSubstr("on n1\n"));
  EXPECT_THAT(out, HasSubstr(" of 1 cores free")) << "one CPU was granted";
  // 5 minutes less the margin of 30 s.
  EXPECT_THAT(out, testing::ContainsRegex("4m[0-9.]+s left"));
}

// The lease moves with the limit of the batch job, both ways; at its end the instance ends in
// order.
TEST_F(Slurm, TheLeaseFollowsTheWalltime) {
  const std::string pipe = make_pipe("uri"), code = make_pipe("code");
  const auto campaign =
      script("echo $HOLON_URI > " + pipe + "\nholon submit sleep 1000\nsleep 1000");
  const std::string state = sandbox_.folder() + "/state-dir";
  const std::string job = slurm_->submit(
      {"-t10", "-n2"}, script(fmt::format("$holon start --state-dir {} --conf batch.interval=1s "
                                          "--conf batch.margin=90s {}\necho ended with $? > {}",
                                          state, campaign, code)));
  sandbox_.environment()["HOLON_URI"] = line_of(pipe);
  const auto expiration = [&] { return sandbox_.json({"uptime"})["expiration"].get<double>(); };
  const double first = expiration();
  EXPECT_GT(first, 0);
  EXPECT_EQ(slurm_->run({"scontrol", "update", "jobid=" + job, "timelimit=70"}).code, 0);
  double later = first;
  for (int tried = 0; tried < 2000 && later < first + 3'500'000; ++tried) later = expiration();
  EXPECT_NEAR(later, first + 3'600'000, 5'000) << "of an hour more, in ms";
  EXPECT_EQ(slurm_->run({"scontrol", "update", "jobid=" + job, "timelimit=1"}).code, 0);
  EXPECT_EQ(line_of(code), "ended with 124");
  EXPECT_THAT(sandbox_.read_file("job-" + job), HasSubstr("its time limit was reached"));
  EXPECT_EQ(sandbox_.run({"journal", "check", state}).code, 0);
  EXPECT_THAT(sandbox_.ok({"journal", "export", state}),
              HasSubstr("its instance ended: its time is over"));
}

// What is left would be found as the test goes back.
TEST_F(Slurm, ACancelledJobLeavesNoProcessAndARecord) {
  const std::string pipe = make_pipe("uri");
  const std::string state = sandbox_.folder() + "/state-dir";
  const auto campaign =
      script("holon submit sleep 1000\necho $HOLON_URI > " + pipe + "\nsleep 1000");
  const std::string job = slurm_->submit(
      {"-t10", "-n2"}, script(fmt::format("exec $holon start --state-dir {} {}", state, campaign)));
  sandbox_.environment()["HOLON_URI"] = line_of(pipe);
  EXPECT_EQ(slurm_->run({"scancel", job}).code, 0);
  EXPECT_TRUE(eventually([&] { return slurm_->run({"squeue", "-h", "-o", "%i"}).out.empty(); }));
  EXPECT_TRUE(sandbox_.processes({"sleep 1000"}).empty());
  // Slurm signals the job's task, too, which may be the first to end.
  EXPECT_THAT(
      sandbox_.ok({"journal", "export", state}),
      AnyOf(HasSubstr("its instance ended: it was told to stop"), HasSubstr(R"("exit_code":143)")));
}

TEST_F(Slurm, TasksOfAStepMakeOneInstance) {
  const auto start = [&](std::vector<std::string> words) {
    std::vector<std::string> all = {"srun", "-N2", "-n2"};
    all.insert(all.end(), words.begin(), words.end());
    return slurm_->run(std::move(all));
  };
  // By a file in the home that all share, and by PMI.
  const std::string campaign = script("holon run -N2 -n2 echo one task\nexit 7");
  for (const char* pmi : {"--mpi=none", "--mpi=pmi2"}) {
    const Ran ran = start({pmi, HOLON_BINARY, "start", campaign});
    EXPECT_EQ(ran.code, 7) << pmi << ": " << ran.err;
    EXPECT_EQ(ran.out, "one task\none task\n") << pmi << ": " << ran.err;
  }
  const Ran here =
      start({HOLON_BINARY, "start", "--here", "sh", "-c", "holon run echo in $SLURMD_NODENAME"});
  EXPECT_EQ(here.code, 0) << here.err;
  EXPECT_THAT(here.out, HasSubstr("in n1\n"));
  EXPECT_THAT(here.out, HasSubstr("in n2\n"));
  const Ran alone = slurm_->run({"srun", "-N1", "-n1", HOLON_BINARY, "start", "true"});
  EXPECT_EQ(alone.code, 0) << alone.err;
}

// The command that is made as data, from the variables of a batch job of two tasks a node, beside a
// step that holds all CPUs.
TEST_F(Slurm, OneStepStartsOneProcessOnEachNode) {
  const std::string variables = make_pipe("variables"), go = make_pipe("go");
  const std::string step_file = sandbox_.folder() + "/step.sh";
  const std::string job = slurm_->submit(
      {"-N3", "--ntasks-per-node=2", "-c2", "--mem=1000", "-t5"},
      script(fmt::format("srun -n6 sleep 1000 &\n"
                         "env > {}\nread line < {}\necho key | sh {} > {}/lines\necho $line > {}",
                         variables, go, step_file, sandbox_.folder(), go)));
  batch::Environment environment;
  Process read({"/bin/cat", variables}, sandbox_.environment(), sandbox_.folder());
  for (std::string line = read.read_line(); !line.empty(); line = read.read_line())
    environment.variables.emplace(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  read.finish();
  const auto allocation = batch::find_allocation(environment);
  EXPECT_EQ(allocation.nodes.size(), 3U);
  EXPECT_EQ(allocation.cpus_here, 4U);
  EXPECT_FALSE(allocation.place.is_one_of_several());
  const auto step = batch::step_on_nodes(
      allocation,
      {"/bin/sh", "-c", "read key; echo $SLURMD_NODENAME $SLURM_PROCID $SLURM_CPUS_ON_NODE $key"});
  ASSERT_TRUE(step);
  std::string text = "unset";
  for (const auto& name : step->unset) text += " " + name;
  text += "\nexec";
  for (const auto& word : step->commands[0]) text += " " + batch::quoted(word);
  sandbox_.write_file("step.sh", text + "\n");
  slurm_->run({"/bin/sh", "-c", "echo go > " + go});
  EXPECT_EQ(line_of(go), "go");
  std::istringstream lines(sandbox_.read_file("lines"));
  std::vector<std::string> said;
  for (std::string line; std::getline(lines, line);) said.push_back(line);
  EXPECT_THAT(said, UnorderedElementsAre("n1 0 4 key", "n2 1 4 key", "n3 2 4 key"))
      << sandbox_.read_file("job-" + job);
  slurm_->run({"scancel", job});
}

}  // namespace
}  // namespace holon::system_test
