// What people type who come from Slurm, Flux and their like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTwoCores = {"--resources", "node=1/core=2"};

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

}  // namespace
}  // namespace holon::system_test
