// What becomes of an srun(1) within a translated script.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "cli/options/srun.hpp"
#include "cli/options/translate.hpp"

namespace holon::cli {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Srun> srun_of(const std::string& line, const Variables& variables = {}) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return translate_srun(words, [&variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

// The options of `holon run`, "--", the command; in brackets what is noted. Or what is refused.
std::string translated_srun(const std::string& line, const Variables& variables = {}) {
  const auto step = srun_of(line, variables);
  if (!step) return "refused: " + to_string(step.error());
  std::string text;
  for (const auto& option : step->options)
    for (const auto& word : option) text += word + " ";
  text += "--";
  for (const auto& word : step->command) text += " " + word;
  for (const auto& note : step->notes) text += " [" + note + "]";
  return text;
}

TEST(SrunOptions, ThatMeanTheSame) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"hostname", "-- hostname"},
      {"-n 4 ./prog -n 9", "-n 4 -- ./prog -n 9"},
      {"-n4 -c2 ./prog", "-n 4 -c 2 -- ./prog"},
      {"--ntasks=2 --cpus-per-task=2 ./a", "-n 2 -c 2 -- ./a"},
      {"--exclusive -n1 ./x", "-n 1 -- ./x"},
      {"--exact -N1 -n 1 -u -Q ./x", "-N 1 -n 1 -- ./x"},
      {"-lun 2 -- -x", "-l -n 2 -- -x"},
      {"-N 2 --ntasks-per-node=2 ./x", "-N 2 -n 4 -- ./x"},
      {"--label --mpi=pmi2 -n 2 ./x", "-l --mpi=pmi2 -n 2 -- ./x"},
      {"--mpi=pmix_v3 -n 2 ./x", "--mpi=pmix -n 2 -- ./x"},
      {"--mpi pmix -n 2 ./x", "--mpi=pmix -n 2 -- ./x"},
      {"--mpi=none ./x", "--mpi=none -- ./x"},
      {"--pty bash", "--pty -- bash"},
      {"-K ./x", "--kill-on-bad-exit -- ./x"},
      {"-K1 ./x", "--kill-on-bad-exit -- ./x"},
      {"-K0 ./x", "-- ./x"},
      {"--kill-on-bad-exit=1 ./x", "--kill-on-bad-exit -- ./x"},
      {"-I ./x", "--now=y -- ./x"},
      {"-t 5 -J step -D /tmp ./x", "-t 300s -J step -D /tmp -- ./x"},
      {"-w n[1-2] -x n3 -C a ./x", "-w n[1-2] --exclude=n3 --requires=a -N 2 -- ./x"},
      {"--mem=2G ./x", "-m 2048M -- ./x"},
      {"--mem=0 ./x", "-- ./x"},
      {"-c 2 --mem-per-cpu=1G ./x", "-c 2 -m 2048M -- ./x"},
      {"--gpus-per-task=1 -n 2 ./x", "-g 1 -n 2 -- ./x"},
      {"--gres=gpu:2 -n 1 ./x", "-n 1 -g 2 -- ./x"},
      {"--gres=none ./x", "-- ./x"},
      {"--cpu-bind=cores --hint=nomultithread --threads-per-core=1 ./x", "-- ./x"},
      {"-m block ./x", "--distribution=block -- ./x"},
      {"-o out-%t -e none -i none ./x", "-o out-{{taskid}} -e /dev/null --input none -- ./x"},
      {"-o all -i 0 ./x", "--input 0 -- ./x"},
      {"-p queue -A acct --qos=high ./x", "-- ./x"},
      {"--overlap ./x",
       "-- ./x [--overlap: ignored; a step has cores of its own, and waits until some are free]"},
      {"--cpu-bind=none ./x",
       "-- ./x [--cpu-bind=none: ignored; each task is bound to the cores it has]"}};
  for (const auto& [theirs, ours] : rows) EXPECT_EQ(translated_srun(theirs), ours) << theirs;
}

TEST(SrunOptions, ThatHaveNoEqualAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"--multi-prog conf",
       "--multi-prog: a step is one program; several steps may run beside each other, `&`"},
      {"--het-group=0 ./x", "--het-group=0: there are no heterogeneous jobs"},
      {"-n1 ./a : -n2 ./b", ":: there are no heterogeneous jobs; one program is one step"},
      {"--jobid=7 ./x", "--jobid=7: a step is one of the job around"},
      {"-d afterok:1 ./x", "-d afterok:1: a step begins when it is typed; `wait` waits for others"},
      {"-r 1 ./x", "-r 1: say the node's name: -w NAME"},
      {"-O -n 8 ./x", "-O: a task has cores of its own"},
      {"--mpi=cray_shasta ./x", "--mpi=cray_shasta: holon has no equal"},
      {"--mpi=list", "a program is missing: srun -n 4 ./prog"},
      {"-m plane=4 ./x", "-m plane=4: holon has no equal"},
      {"--bcast=/tmp/x ./x", "--bcast=/tmp/x: `holon run --add-file` gives a job a file"},
      {"--task-prolog=p ./x", "--task-prolog=p: holon has no equal"},
      {"--hint=multithread ./x", "--hint=multithread: holon has no equal"},
      {"-o %N ./x", "-o %N: of what % stands for, %j %A %a %x %t %u have an equal"},
      {"-n 2-4 ./x", "-n takes a number of tasks, at least 1"},
      {"-n", "a value is missing: -n"},
      {"--nonsense ./x", "holon knows no such option of srun: --nonsense"},
      {"-n 2", "a program is missing: srun -n 4 ./prog"}};
  for (const auto& [theirs, why] : rows) {
    const std::string text = translated_srun(theirs);
    EXPECT_TRUE(text.starts_with("refused: ")) << theirs << ": " << text;
    EXPECT_NE(text.find(why.substr(0, why.find(": "))), std::string::npos)
        << theirs << ": " << text;
    EXPECT_NE(text.find(why.substr(why.find(": ") == std::string::npos ? 0 : why.find(": ") + 2)),
              std::string::npos)
        << theirs << ": " << text;
  }
}

TEST(SrunOptions, AreThoseOfTheJobWhereTheStepSaysNone) {
  const Variables of_four = {{"SLURM_NTASKS", "4"}, {"SLURM_CPUS_PER_TASK", "2"}};
  EXPECT_EQ(translated_srun("./x", of_four), "-n 4 -c 2 -- ./x");
  EXPECT_EQ(translated_srun("-n 2 ./x", of_four), "-n 2 -c 2 -- ./x");
  EXPECT_EQ(translated_srun("-n 8 ./x", of_four), "-n 8 -- ./x") << "a core each suffices";
  EXPECT_EQ(translated_srun("-c 1 ./x", of_four), "-n 4 -c 1 -- ./x");
  const Variables two_nodes = {
      {"SLURM_NTASKS", "4"}, {"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(translated_srun("./x", two_nodes), "-n 4 -N 2 -- ./x");
  EXPECT_EQ(translated_srun("-n 1 ./x", two_nodes), "-n 1 -N 1 -- ./x");
  EXPECT_EQ(translated_srun("-N 1 ./x", two_nodes), "-n 4 -N 1 -- ./x");
  EXPECT_EQ(translated_srun("-N 2 --ntasks-per-node=1 -o %j.%t ./x", two_nodes),
            "-N 2 -n 2 -o 7.{{taskid}} -- ./x");
  const Variables a_task_a_node = {{"SLURM_NTASKS", "2"}, {"SLURM_JOB_NUM_NODES", "2"}};
  EXPECT_EQ(translated_srun("-N 1 ./x", a_task_a_node), "-N 1 -- ./x");
}

TEST(SrunOptions, GiveTheTasksTheGpusOfTheJobUnlessTheySayOtherwise) {
  const Variables gpus = {{"SLURM_NTASKS", "2"}, {"SLURM_JOB_GPUS", "0-3"}};
  EXPECT_EQ(translated_srun("./x", gpus), "-n 2 -g 2 -- ./x");
  EXPECT_EQ(translated_srun("-n 1 ./x", gpus), "-n 1 -g 4 -- ./x");
  EXPECT_EQ(translated_srun("--gpus=0 ./x", gpus), "-n 2 -- ./x");
  EXPECT_EQ(translated_srun("-n 3 ./x", gpus),
            "-n 3 -- ./x [4 GPUs do not divide among 3 tasks, which run without; --gpus-per-task N "
            "gives each of them some]");
  const Variables each = {
      {"SLURM_NTASKS", "2"}, {"SLURM_JOB_GPUS", "0,1"}, {"SLURM_GPUS_PER_TASK", "1"}};
  EXPECT_EQ(translated_srun("-n 1 ./x", each), "-g 1 -n 1 -- ./x");
}

TEST(Srun, SaysThatThereIsNoJob) {
  std::ostringstream out, err;
  Io io{out, err};
  const char* const uri = std::getenv("HOLON_URI");
  if (uri != nullptr) GTEST_SKIP() << "within a job";
  EXPECT_EQ(run_srun(io, {"hostname"}), 2);
  EXPECT_EQ(err.str(),
            "srun: there is no job around; `holon batch --translate SCRIPT` makes one\n");
}

}  // namespace
}  // namespace holon::cli
