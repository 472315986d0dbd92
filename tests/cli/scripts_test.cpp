// Options in lines of the script: how they are read, and who wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/options/directives.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(const std::vector<Directive>& directives) {
  const auto lines = words_of(directives, "a.sh");
  std::vector<std::string> all;
  if (!lines) return {to_string(lines.error())};
  for (const auto& line : *lines) {
    all.push_back(line.place);
    all.insert(all.end(), line.words.begin(), line.words.end());
  }
  return all;
}

TEST(Directives, StandInCommentsBeforeTheFirstCommand) {
  const auto found = directives_in(
      "#!/bin/sh\n"
      "# HOLON is no tag here\n"
      "#HOLON -n 4 -t 1h   # four of them\n"
      "\n"
      "#HOLONS -n 5\n"
      "#SBATCH --mem=4G\n"
      "# flux: -N2\n"
      "#HOLON: -c 2\r\n"
      "true\n"
      "#HOLON -n 8\n"
      "#HOLON -n 9\n");
  EXPECT_THAT(words(found.holon),
              ElementsAre("a.sh:3", "-n", "4", "-t", "1h", "a.sh:8", "-c", "2"));
  EXPECT_THAT(words(found.slurm), ElementsAre("a.sh:6", "--mem=4G"));
  EXPECT_THAT(words(found.flux), ElementsAre("a.sh:7", "-N2"));
  EXPECT_EQ(found.late_holon, 10);
}

TEST(Directives, HaveOtherCommentMarksInOtherLanguages) {
  EXPECT_THAT(words(directives_in("#!/usr/bin/lua\n-- holon: -n 2\n").holon),
              ElementsAre("a.sh:2", "-n", "2"));
  EXPECT_TRUE(directives_in("// holon: -n 2\n").holon.empty()) << "no #! on the first line";
  EXPECT_TRUE(directives_in("").holon.empty());
}

TEST(Directives, AreSplitAsAShellSplits) {
  const auto split = [](const std::string& text) { return words({{2, text}}); };
  EXPECT_THAT(split(R"(--name 'a b' --env="X=a\"b" c\ d e'f'g)"),
              ElementsAre("a.sh:2", "--name", "a b", "--env=X=a\"b", "c d", "efg"));
  EXPECT_THAT(split("--name ''"), ElementsAre("a.sh:2", "--name", ""));
  EXPECT_THAT(split("a#b #c"), ElementsAre("a.sh:2", "a#b"));
  EXPECT_THAT(split("--name 'a"), ElementsAre("a.sh:2: a quotation mark has no end"));
  EXPECT_THAT(words({{2, " --env=X=\"\"\"a \"b\""}, {3, " c\"\"\" -n 2"}, {4, "-c 1"}}),
              ElementsAre("a.sh:2", "--env=X=a \"b\"\n c", "-n", "2", "a.sh:4", "-c", "1"));
}

class Scripts : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "holon-scripts-XXXXXX";
    ASSERT_NE(mkdtemp(dir_.data()), nullptr);
    before_ = fs::current_path();
    fs::current_path(dir_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(dir_);
  }
  static void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::absolute(name).parent_path());
    std::ofstream(name) << text;
    fs::permissions(name, fs::perms::owner_all);
  }
  // The jobspec that `--dry-run` prints.
  static json spec(std::vector<std::string> args) {
    args.insert(args.begin() + 1, "--dry-run");
    const Ran ran = run_cli(args);
    EXPECT_EQ(ran.code, kOk) << ran.err;
    return json::parse(ran.out, nullptr, false);
  }
  static std::string error(const std::vector<std::string>& args) {
    const Ran ran = run_cli(args);
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_EQ(ran.out, "");
    return ran.err.substr(0, ran.err.find('\n'));
  }

  std::string dir_;
  fs::path before_;
};

TEST_F(Scripts, OptionsOfTheCommandLineAreTakenInsteadOfTheScripts) {
  write("fit.sh",
        "#!/bin/sh\n#HOLON -n 4 -t 1h\n#HOLON --name fit --env A=1 --env B=1 -l -d afterok:3\n");
  json got = spec({"submit", "./fit.sh"});
  EXPECT_EQ(got["resources"][0]["count"], 4);
  EXPECT_EQ(got["attributes"]["system"]["duration"], 3600);
  EXPECT_EQ(got["attributes"]["system"]["job"]["name"], "fit");
  EXPECT_EQ(got["attributes"]["system"]["shell"]["options"]["label-io"], true);

  got = spec({"submit", "--ntasks=2", "--time", "5", "--env", "B=2", "-d", "afterany:7", "./fit.sh",
              "-n", "9"});
  EXPECT_EQ(got["resources"][0]["count"], 2);
  EXPECT_EQ(got["attributes"]["system"]["duration"], 300);
  EXPECT_EQ(got["attributes"]["system"]["environment"]["A"], "1");
  EXPECT_EQ(got["attributes"]["system"]["environment"]["B"], "2");
  EXPECT_EQ(got["attributes"]["system"]["dependencies"],
            json::parse(R"([{"scheme": "afterany", "value": "7"}])"));
  EXPECT_EQ(got["tasks"][0]["command"], (json{dir_ + "/fit.sh", "-n", "9"}));
}

TEST_F(Scripts, OfAChildInstanceAreReadToo) {
  write("campaign.sh", "#!/bin/sh\n#HOLON --nslots=3 --conf queue.policy=easy\n");
  const json got = spec({"batch", "campaign.sh"});
  EXPECT_EQ(got["resources"][0]["count"], 3);
  EXPECT_THAT(got["tasks"][0]["command"].dump(), HasSubstr("queue.policy=easy"));
  EXPECT_EQ(spec({"batch", "--wrap", "./campaign.sh"})["resources"][0]["count"], 1);
}

TEST_F(Scripts, AreFoundWhereTheyWillRun) {
  write("sub/fit.sh", "#!/bin/sh\n#HOLON -n 4\n");
  EXPECT_EQ(spec({"submit", "-D", "sub", "./fit.sh"})["resources"][0]["count"], 4);
  EXPECT_EQ(spec({"submit", "fit.sh"})["resources"][0]["count"], 1) << "looked for in PATH";
  EXPECT_EQ(spec({"submit", "./nowhere"})["resources"][0]["count"], 1);
  EXPECT_EQ(spec({"submit", "./sub"})["resources"][0]["count"], 1);
  write("moves.sh", "#!/bin/sh\n#HOLON -D /tmp\n");
  EXPECT_EQ(spec({"submit", "./moves.sh"})["tasks"][0]["command"], json{dir_ + "/moves.sh"});
}

TEST_F(Scripts, ErrorsNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"-n x",
       "-n,--ntasks: 'x' is no number of tasks; accepted are 4, 4-16, 4-, -16 and ascending lists "
       "like 2,4,8 and 1-3,5-6"},
      {"-n", "--ntasks: a value is missing"},
      {"--nmae x", "--nmae: there is no such option; did you mean --name?"},
      {"-p x", "-p: no such option; a queue is -q"},
      {"-n 4 ./a.out", "./a.out: not expected here; only options are"},
      {"-c -2", "-c: -2 is not accepted, at least 1 and at most 4294967295 are"},
      {"-x", "-x,--exclusive: whole nodes"},
      {"-d afterok:x",
       "--dependency afterok:x: 'x' is no job id; afterok:7 names a job, afterok:7.3-9 tasks of an "
       "array"},
      {"--wrap", "--wrap: accepted on the command line only"},
      {"--help", "--help: accepted on the command line only"},
      {"--name 'a", "a quotation mark has no end"},
      {"--count 0", "--count: 0 is not accepted, at least 1 is"}};
  for (const auto& [line, what] : rows) {
    write("bad.sh", "#!/bin/sh\n\n#HOLON " + line + "\n");
    const std::string place = "holon submit: ./bad.sh:3: ";
    EXPECT_EQ(error({"submit", "./bad.sh"}).substr(0, place.size() + what.size()), place + what);
  }
}

TEST_F(Scripts, WhatIsNotReadIsSaid) {
  write("late.sh", "#!/bin/sh\ncd /\n#HOLON -n 4\n");
  Ran ran = run_cli({"submit", "--dry-run", "./late.sh"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err,
            "holon submit: ./late.sh:3: not read: options stand before the first command\n");
  write("slurm.sh", "#!/bin/sh\n#SBATCH -n 4\n#SBATCH -p long\n");
  ran = run_cli({"submit", "--dry-run", "./slurm.sh"});
  EXPECT_EQ(ran.err,
            "holon submit: ./slurm.sh:2: #SBATCH lines are not read; --translate reads them\n");
  write("both.sh", "#!/bin/sh\n#SBATCH -n 4\n#HOLON -n 4\n");
  EXPECT_EQ(run_cli({"submit", "--dry-run", "./both.sh"}).err, "");
}

TEST_F(Scripts, LinesOfSlurmAndFluxAreTranslated) {
  write("both.sh",
        "#!/bin/sh\n#SBATCH -N 2 -n 4 --mail-type=END\n#SBATCH --time=10 -J theirs\n"
        "# flux: -q debug\n#HOLON -J ours\n");
  Ran ran = run_cli({"submit", "--dry-run", "--translate", "-t", "5", "./both.sh"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err,
            "holon submit: ./both.sh:2: --mail-type=END: ignored; holon sends no mail\n"
            "holon submit: ./both.sh: each task runs the script; `holon batch` runs it once\n");
  const json got = json::parse(ran.out);
  EXPECT_EQ(got["resources"][0]["count"], 2);
  EXPECT_EQ(got["attributes"]["system"]["duration"], 300);
  EXPECT_EQ(got["attributes"]["system"]["queue"], "debug");
  EXPECT_EQ(got["attributes"]["system"]["job"]["name"], "ours");

  ran = run_cli({"batch", "--dry-run", "--translate", "both.sh"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_EQ(ran.err, "holon batch: both.sh:2: --mail-type=END: ignored; holon sends no mail\n");

  write("bad.sh", "#!/bin/sh\n#SBATCH -c x\n");
  EXPECT_EQ(error({"submit", "--translate", "./bad.sh"}),
            "holon submit: ./bad.sh:2: -c,--cores-per-task: 'x' is not a whole number");
}

}  // namespace
}  // namespace holon::cli
