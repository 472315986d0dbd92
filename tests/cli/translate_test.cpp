// What becomes of the options that a script has for Slurm and Flux.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "cli/options/directives.hpp"
#include "cli/options/translate.hpp"

namespace holon::cli {
namespace {

using Translator = Result<Translated> (*)(const Parser::Layer&, const Around&);
using Typed = std::map<std::string, std::string>;

Result<Translated> translate(Translator translator, const std::string& options,
                             const Typed& typed = {}) {
  const auto lines = words_of({{2, options}}, "a.sh");
  return translator(lines.value(), {[](const std::string& option) { return option != "--input"; },
                                    [&typed](const std::string& option) {
                                      const auto found = typed.find(option);
                                      return found == typed.end() ? "" : found->second;
                                    }});
}

// The options one after the other, and behind them what is ignored, in brackets: the option alone,
// where there is no more to say.
std::string translated(Translator translator, const std::string& options, const Typed& typed = {}) {
  const auto made = translate(translator, options, typed);
  if (!made) return to_string(made.error());
  std::string text;
  for (const auto& line : made->lines)
    for (const auto& word : line.words) text += (text.empty() ? "" : " ") + word;
  for (auto none : made->no_equal) {
    const std::string usual = ": ignored; holon has no equal";
    if (none.ends_with(usual)) none.resize(none.size() - usual.size());
    text += " [" + none + "]";
  }
  return text;
}

std::string slurm(const std::string& options, const Typed& typed = {}) {
  return translated(translate_slurm, options, typed);
}

std::string flux(const std::string& options) {
  return translated(translate_flux, options);
}

TEST(Translate, OptionsOfSlurmThatMeanTheSame) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"-n 4", "-n 4"},
      {"-n4", "-n 4"},
      {"--ntasks=4 --cpus-per-task 2", "-n 4 -c 2"},
      {"-N 2", "-N 2"},
      {"--time=1-12:00:00", "-t 129600s"},
      {"--time=UNLIMITED", "-t inf"},
      {"-J 'a b' -p long --qos=high -A acct", "-J a b -q long --qos=high -A acct"},
      {"-o %x-%j.%t -e 100%%", "-o {{name}}-{{id}}.{{taskid}} -e 100%"},
      {"-a 1-10%2 -o %x-%A_%a.out", "--array=1-10%2 -o {{name}}-{{array.id}}_{{array.index}}.out"},
      {"--array=1,3,5-7", "--array=1,3,5-7"},
      {"--array=1-10:2,20", "--array=1,3,5,7,9,20"},
      {"--array=[1-3]%2", "--array=1-3%2"},
      {"-o %a.out",
       "-o slurm-{{id}}.out [a.sh:2: -o %a.out: ignored; holon has no such name; the output is in "
       "slurm-%j.out]"},
      {"-a 1-2 -o %4a-%N.out",
       "--array=1-2 -o slurm-{{array.id}}_{{array.index}}.out [a.sh:2: -o %4a-%N.out: ignored; "
       "holon has no such name; the output is in slurm-%A_%a.out]"},
      {"-e %N.err", " [a.sh:2: -e %N.err]"},
      {"-o %A.out", "-o {{id}}.out"},
      {"-D /tmp -L matlab:2,ansys", "-D /tmp -L matlab:2,ansys"},
      {"-d afterok:3:5,afterany:7", "-d afterok:3:5,afterany:7"},
      {"--begin=now+2hours", "--begin-time=+2h"},
      {"--begin=now+60", "--begin-time=+60s"},
      {"--begin=16:00", "--begin-time=16:00"},
      {"--hold", "--urgency=hold"},
      {"-w n[1-2] -x n3 -C 'a&b'", "-w n[1-2] --exclude=n3 --requires=a&b -N 2"},
      {"--gpus-per-task=2", "-g 2"},
      {"-m cyclic", "--distribution=cyclic"},
      {"--distribution=block:block", "--distribution=block"},
      {"-m plane=4", " [a.sh:2: -m plane=4]"},
      {"-m block:cyclic", " [a.sh:2: -m block:cyclic]"},
      {"--requeue", "--requeue=3"},
      {"--signal=USR1@120", "--signal=USR1@120"},
      {"--signal=10", "--signal=10@60"},
      {"--signal=B:USR1", " [a.sh:2: --signal=B:USR1]"},
      {"--parsable --no-requeue", ""}};
  for (const auto& [theirs, ours] : rows) EXPECT_EQ(slurm(theirs), ours) << theirs;
}

TEST(Translate, OptionsOfSlurmThatAreAboutNodesOrCores) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"-N 2 --ntasks-per-node=4", "-N 2 -n 8"},
      {"--ntasks-per-node=4", "-N 1 -n 4"},
      {"-N 2 -n 8 --ntasks-per-node=4", "-N 2 -n 8"},
      {"-n 8 --ntasks-per-node=4", "-n 8 -N 2"},
      {"-n 8 -N 2 --tasks-per-node=3",
       "-n 8 -N 2 [a.sh:2: --tasks-per-node=3: ignored; -n and -N hold]"},
      {"-N 2-2", "-N 2"},
      {"--mem=4G", "-m 4096M"},
      {"--mem=4000", "-m 4000M"},
      {"--mem=4GB", "-m 4096M"},
      {"--mem=100mb", "-m 100M"},
      {"--mem=4X", " [a.sh:2: --mem=4X]"},
      {"-N 2 --mem=4G", "-N 2 -m 4096M"},
      {"-N 2 -n 8 --mem=4G", "-N 2 -n 8 -m 1024M"},
      {"-n 8 --mem=4G", "-n 8 [a.sh:2: --mem=4G]"},
      {"--mem=0", " [a.sh:2: --mem=0]"},
      {"-c 4 --mem-per-cpu 2G", "-c 4 -m 8192M"},
      {"-N 2 -n 4 --gres=gpu:2", "-N 2 -n 4 -g 1"},
      {"--gres=gpu", "-g 1"},
      {"--gres=gpu:a100:2", "-g 2"},
      {"--gres=gpu:a100", "-g 1"},
      {"--gres=gpu:0", ""},
      {"--gres=fpga:1", " [a.sh:2: --gres=fpga:1: ignored; of generic resources holon knows gpu]"},
      {"-n 3 -G 2", "-n 3 [a.sh:2: -G 2: ignored; 2 GPUs do not divide among 3 tasks]"},
      {"-n 4 -G 8", "-n 4 -g 2"},
      {"-n 4 --gpus=8", "-n 4 -g 2"},
      {"--gpus-per-node=2", "-g 2"},
      {"-w n1", "-w n1"},
      {"-w n[1-2] -n 4", "-w n[1-2] -n 4 -N 2"},
      {"-w n[1-2] -n 1", "-w n[1-2] -n 1 -N 1"},
      {"-w n[1-2] -N 2", "-w n[1-2] -N 2"},
      {"-w n[1-2] --ntasks-per-node=2", "-w n[1-2] -N 2 -n 4"},
      {"-N 3 -n 2", "-N 3 -n 2 -N 2"},
      {"--hint=nomultithread --ntasks-per-core=1", ""},
      {"--hint=multithread", " [a.sh:2: --hint=multithread]"},
      {"--exclusive", "-N 1 -x"},
      {"-N 2 --exclusive", "-N 2 -x"},
      {"-n 2 --exclusive", "-n 2 [a.sh:2: --exclusive]"},
      {"--exclusive=user", " [a.sh:2: --exclusive=user]"}};
  for (const auto& [theirs, ours] : rows) EXPECT_EQ(slurm(theirs), ours) << theirs;
}

TEST(Translate, TheEnvironmentOfSlurm) {
  ASSERT_EQ(setenv("HOLON_TEST_THERE", "1", 1), 0);
  EXPECT_EQ(slurm("--export=ALL"), "");
  EXPECT_EQ(slurm("--export=NONE"), "--env=-*");
  EXPECT_EQ(slurm("--export=ALL,A=1"), "--env=A=1");
  EXPECT_EQ(slurm("--export=HOLON_TEST_THERE,HOLON_TEST_NOT_THERE,B=2"),
            "--env=-* --env=HOLON_TEST_THERE --env=B=2");
  unsetenv("HOLON_TEST_THERE");
}

TEST(Translate, WhatHasNoEqualIsNamed) {
  EXPECT_EQ(slurm("--mail-type END -n 2 --mail-user=a@b --gpu-bind x -N 2-4 -e %A_%a"),
            "-n 2 [a.sh:2: -N 2-4] [a.sh:2: -e %A_%a] [a.sh:2: --mail-type END: ignored; holon "
            "sends no mail] [a.sh:2: --mail-user=a@b: ignored; holon sends no mail] [a.sh:2: "
            "--gpu-bind x]");
  EXPECT_EQ(slurm("-p a,b -d afterok:1?afterok:2 --begin=midnight -L a@b"),
            " [a.sh:2: -p a,b] [a.sh:2: -d afterok:1?afterok:2] [a.sh:2: --begin=midnight] "
            "[a.sh:2: -L a@b]");
  EXPECT_EQ(slurm("-i in.txt"), " [a.sh:2: -i in.txt]") << "the verb has no --input";
  EXPECT_EQ(slurm("-n"), " [a.sh:2: -n]");
  EXPECT_EQ(slurm("word"), " [a.sh:2: word]");
  EXPECT_EQ(slurm("--hold=1"), " [a.sh:2: --hold=1]");
}

// As getopt_long(3) takes them.
TEST(Translate, OptionsOfSlurmMayBeAbbreviated) {
  EXPECT_EQ(slurm("--nt=2 --cpus-per-t=3 --part=long"), "-c 3 -q long [a.sh:2: --nt=2]")
      << "--ntasks, or --ntasks-per-node";
  EXPECT_EQ(slurm("--ntasks=2 --cpus-per-t=3 --part=long"), "-n 2 -c 3 -q long");
}

TEST(Translate, TimesCarryOver) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"10", "600s"},         {"90:30", "5430s"},
      {"0-36:00", "129600s"}, {"0-24:00:00", "86400s"},
      {"1-24", "172800s"},    {"1:90:00", "9000s"},
      {"1-00:90", "91800s"},  {"1-", "86400s"},
      {"Unlimited", "inf"},   {"0", "0"},
      {"soon", "soon"},       {"1-2:3:4:5", "1-2:3:4:5"}};
  for (const auto& [theirs, ours] : rows) EXPECT_EQ(slurm("-t " + theirs), "-t " + ours) << theirs;
}

// An option of the command line stands in for the script's, also where others are computed from it.
TEST(Translate, WhatIsComputedIsComputedFromWhatHoldsInTheEnd) {
  struct Row {
    const char* theirs;
    Typed typed;
    const char* ours;
  };
  const std::vector<Row> rows = {
      {"--mem-per-cpu=1G", {{"-c", "4"}}, "-m 4096M"},
      {"--mem=4G -N 1 -n 1", {{"-n", "4"}}, "-N 1 -n 1 -m 1024M"},
      {"--mem=4G", {{"-n", "4"}, {"-N", "1"}}, "-m 1024M"},
      {"-N 2 -n 4 --mem=4G", {{"-N", "1"}}, "-N 2 -n 4 -m 1024M"},
      {"-N 1 --ntasks-per-node=4", {{"-N", "2"}}, "-N 1 -n 8"},
      {"-N 2 -n 8", {{"-n", "1"}}, "-N 2 -n 8 -N 1"},
      {"-n 1", {{"-N", "2"}}, "-n 1"},
      {"--ntasks-per-node=4", {{"-N", "2"}}, "-n 8"},
      {"-N 1 -n 1 --gres=gpu:4", {{"-n", "4"}}, "-N 1 -n 1 -g 1"},
      {"-N 1 -n 1 --gpus-per-node=4", {{"-n", "4"}}, "-N 1 -n 1 -g 1"},
      {"-o %A_%a.log", {{"--array", "1-2"}}, "-o {{array.id}}_{{array.index}}.log"}};
  for (const auto& row : rows) EXPECT_EQ(slurm(row.theirs, row.typed), row.ours) << row.theirs;
  EXPECT_EQ(translated(translate_flux, "-N 1 --tasks-per-node=4", {{"-N", "2"}}), "-N 1 -n 8");
}

TEST(Translate, AScriptFindsItsOptionsByTheirNames) {
  const auto made = translate(translate_slurm, "-n 4 -J fit -A acct", {{"-c", "2"}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->environment, (std::vector<std::string>{
                                   "SLURM_CPUS_PER_TASK=2", "SLURM_JOB_NAME=fit",
                                   "SLURM_JOB_ACCOUNT=acct", "SLURM_NTASKS=4", "SLURM_NPROCS=4"}));
}

// A script for an array is no single job without an index.
TEST(Translate, AnArrayIsMadeOrRefused) {
  EXPECT_EQ(slurm("--array=1-x"), "--array=1-x") << "the reader of the option refuses it";
  const auto lines = words_of({{2, "--array=1-3"}}, "a.sh");
  const auto made =
      translate_slurm(lines.value(), {[](const std::string& option) { return option != "--array"; },
                                      [](const std::string&) { return std::string(); }});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().where, "a.sh:2");
}

TEST(Translate, OptionsOfFlux) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"-N2 -n 8 --cores-per-slot=2 -g 1", "-N 2 -n 8 -c 2 -g 1"},
      {"--ntasks=4 --cores-per-task=2 --gpus-per-task=1", "-n 4 -c 2 -g 1"},
      {"-t 1.5h -q debug -B acct -x", "-t 1.5h -q debug -A acct -x"},
      {"--job-name=it --output=it-{{id}}.log --error=e -l", "-J it -o it-{{id}}.log -e e -l"},
      {"--cwd=/tmp --env=A=1 --env=-B* --env-remove=C", "-D /tmp --env=A=1 --env=-B* --env=-C"},
      {"--urgency=20 --dependency=afterok:3 --begin-time=+1h",
       "--urgency=20 -d afterok:3 --begin-time=+1h"},
      {"--requires='a|b' --setattr=user.k=v", "--requires=a|b --attr=k=v"},
      {"-N 2 --tasks-per-node=2", "-N 2 -n 4"},
      {"-o verbose --setattr=system.x=1 --env=P=$X --output={{id.words}} --flags=waitable",
       " [a.sh:2: --setattr=system.x=1] [a.sh:2: --env=P=$X] [a.sh:2: --output={{id.words}}] "
       "[a.sh:2: -o verbose] [a.sh:2: --flags=waitable]"}};
  for (const auto& [theirs, ours] : rows) EXPECT_EQ(flux(theirs), ours) << theirs;
}

}  // namespace
}  // namespace holon::cli
