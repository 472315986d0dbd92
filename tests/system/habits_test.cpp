// What people type who come from Slurm, Flux and their like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

TEST(Habits, ShortAndForeignNamesOfOptionsSayTheSame) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const auto ours =
      sandbox.ok({"submit", "--name", "fit", "--output", "o-{{id}}", "--error", "e", "--cwd",
                  "/tmp", "--label-io", "-t", "5m", "-c", "2", "--dry-run", "true"});
  EXPECT_EQ(sandbox.ok({"submit", "-J", "fit", "-o", "o-{{id}}", "-e", "e", "-D", "/tmp", "-l",
                        "-t", "5m", "-c", "2", "--dry-run", "true"}),
            ours);
  EXPECT_EQ(
      sandbox.ok({"submit", "--job-name=fit", "--output=o-{{id}}", "--error=e", "--chdir=/tmp",
                  "--label", "--time=5", "--cpus-per-task=2", "--dry-run", "true"}),
      ours);
}

TEST(Habits, OneDependencyNamesSeveralJobs) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  sandbox.ok({"submit", "--urgency", "0", "true"});
  sandbox.ok({"submit", "true"});
  sandbox.ok({"submit", "--urgency", "0", "false"});
  sandbox.ok({"submit", "-d", "afterok:1:2,afterany:3", "true"});
  EXPECT_EQ(sandbox.json({"job", "info", "4"})["state"], "DEPEND");
  sandbox.ok({"urgency", "1", "16"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.json({"job", "info", "4"})["state"], "DEPEND");
  sandbox.ok({"urgency", "3", "16"});
  sandbox.ok({"job", "wait", "4"});
}

// Three nodes of two cores; n0 and n1 are fast, n2 has a gpu.
std::string three_nodes(Sandbox& sandbox) {
  return sandbox.write_file("R.json",
                            R"({"version": 1, "execution": {
      "R_lite": [{"rank": "0-2", "children": {"core": "0-1"}}], "nodelist": ["n[0-2]"],
      "properties": {"fast": "0-1", "gpu": "2"}}})");
}

TEST(Habits, AJobspecFileIsSubmittedAsItIs) {
  Sandbox sandbox;
  Instance instance(sandbox, kTwoCores);
  const auto spec = sandbox.ok({"submit", "-J", "fit", "--dry-run", "echo", "hi"});
  const auto file = sandbox.write_file("spec.json", spec);
  EXPECT_EQ(sandbox.ok({"submit", "--jobspec", file, "--dry-run"}), spec);
  EXPECT_EQ(sandbox.ok({"submit", "--jobspec", file, "--count", "2"}), "1\n2\n");
  sandbox.ok({"job", "wait", "2"});
  EXPECT_EQ(sandbox.ok({"job", "output", "2"}), "hi\n");
  EXPECT_EQ(sandbox.json({"job", "info", "2"})["name"], "fit");
  const Ran beside = sandbox.run({"submit", "-n", "2", "--jobspec", file});
  EXPECT_EQ(beside.code, 2);
  EXPECT_THAT(beside.err, HasSubstr("holon submit: -n: not with --jobspec"));
  const auto broken = sandbox.write_file("broken.yaml", "version: 1\nresources: 7\n");
  EXPECT_THAT(sandbox.run({"submit", "--jobspec", broken}).err, HasSubstr(broken + ", "));
  EXPECT_THAT(sandbox.run({"submit", "--jobspec", "nofile"}).err, HasSubstr("nofile: "));
}

TEST(Habits, JobsRunOnTheNodesTheyAskFor) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", three_nodes(sandbox)});
  const auto node = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "run");
    for (const char* word : {"sh", "-c", "echo $HOLON_NODELIST"}) options.emplace_back(word);
    return sandbox.ok(options);
  };
  EXPECT_EQ(node({"-w", "n1"}), "n1\n");
  EXPECT_EQ(node({"--nodelist=n[1-2]", "-N2"}), "n[1-2]\nn[1-2]\n");
  EXPECT_EQ(node({"--exclude", "n[0-1]"}), "n2\n");
  EXPECT_EQ(node({"--requires", "gpu"}), "n2\n");
  EXPECT_EQ(node({"-C", "fast&!host:n0"}), "n1\n");
  EXPECT_EQ(node({"--requires", "fast\t-host:n0"}), "n1\n");
  EXPECT_EQ(node({"--requires", "(gpu or rank:1) and not fast"}), "n2\n");
  EXPECT_EQ(node({"--requires", "fast", "--exclude", "n1"}), "n0\n");
  EXPECT_EQ(node({"--requires", "^gpu", "--exclude", "n0"}), "n1\n");
}

TEST(Habits, NodesThatCannotBeAreRefusedWithTheReason) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", three_nodes(sandbox)});
  const auto said = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "submit");
    options.emplace_back("true");
    const Ran ran = sandbox.run(options);
    EXPECT_NE(ran.code, 0);
    return ran.err.substr(0, ran.err.find('\n'));
  };
  EXPECT_EQ(said({"--requires", "nope"}),
            "holon submit: no node of this instance has the property nope");
  EXPECT_EQ(said({"-w", "x[1-2]"}), "holon submit: no node of this instance is called x[1-2]");
  EXPECT_EQ(said({"--requires", "fast", "-N3"}),
            "holon submit: asks for 3 nodes; this instance has 2 with fast");
  EXPECT_EQ(said({"--requires", "fast and gpu"}),
            "holon submit: asks for 1 slot; this instance has 0 on nodes with fast and gpu");
  EXPECT_EQ(said({"-w", "n["}),
            "holon submit: -w,--nodelist: 'n[', character 1: brackets do not match");
  EXPECT_EQ(said({"--requires", "fast and"}),
            "holon submit: --requires: 'fast and' ends where a property, host:HOSTS, rank:RANKS, "
            "'not' or '(' is expected");
  EXPECT_EQ(said({"--requires", "and fast"}),
            "holon submit: --requires: 'and fast', character 1: 'and': a property, host:HOSTS, "
            "rank:RANKS, 'not' or '(' is expected");
  EXPECT_EQ(said({"--requires", "fast)"}),
            "holon submit: --requires: 'fast)', character 5: ')': no '(' before");
  EXPECT_EQ(said({"--requires", "rank:x"}),
            "holon submit: --requires: 'rank:x', character 1: 'rank:x': no ranks; 0-3,7 are");
}

TEST(Habits, ChildInstancesLieOnTheNodesTheyAskFor) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", three_nodes(sandbox)});
  sandbox.ok({"alloc", "-w", "n1", "true"});
  EXPECT_EQ(sandbox.json({"job", "info", "1"})["nodelist"], "n1");
  sandbox.ok({"batch", "--requires", "gpu", "--wrap", "true"});
  sandbox.ok({"job", "wait", "2"});
  EXPECT_EQ(sandbox.json({"job", "info", "2"})["nodelist"], "n2");
}

TEST(Habits, AWaitForNodesIsExplained) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", three_nodes(sandbox)});
  sandbox.ok({"submit", "-w", "n0", "-n", "2", "sleep", "600"});
  sandbox.ok({"submit", "-w", "n0", "true"});
  EXPECT_THAT(sandbox.ok({"jobs", "--all"}), HasSubstr("it takes only nodes with host:n0"));
  const std::string explained = sandbox.ok({"explain", "2"});
  EXPECT_THAT(explained, HasSubstr("1 core on nodes with host:n0"));
  EXPECT_THAT(explained, HasSubstr("job 1  sleep on n0"));
  const auto refused = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"submit", "-N", "3"});
    options.emplace_back("true");
    return sandbox.run(options).err;
  };
  EXPECT_THAT(refused({"--exclude", "n0"}), HasSubstr("without host:n0"));
  EXPECT_THAT(refused({"--exclude", "n0", "--requires", "fast|gpu"}),
              HasSubstr("with (fast or gpu), without host:n0"));
  sandbox.ok({"cancel", "--all"});
}

TEST(Habits, FilesOfTheEnvironmentAreReadBeforeWhatTheCommandLineSays) {
  Sandbox sandbox;
  sandbox.environment()["HOLON_CONF"] =
      sandbox.write_file("site.toml", "[job]\ngrace = \"3s\"\n") + ":" +
      sandbox.write_file("group.toml", "[job]\ngrace = \"4s\"\nmax-count = 7\n");
  Instance instance(sandbox, {"--resources", "node=1/core=2", "--conf", "job.max-count=9"});
  EXPECT_THAT(sandbox.ok({"config", "get", "job.grace"}),
              testing::AllOf(testing::HasSubstr("4"), testing::HasSubstr("group.toml:2")));
  EXPECT_THAT(sandbox.ok({"config", "get", "job.max-count"}),
              testing::AllOf(testing::HasSubstr("9"), testing::HasSubstr("--conf")));
}

}  // namespace
}  // namespace holon::system_test
