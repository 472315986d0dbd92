// Jobs that use more memory than they asked for, where the agent keeps them to it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

constexpr std::int64_t kMib = 1 << 20;

JobOptions with_memory(std::int64_t bytes, std::int64_t tasks = 1) {
  JobOptions options;
  options.tasks = tasks;
  options.system = nlohmann::json{{"holon", {{"memory", bytes}}}}.dump();
  return options;
}

// A line without an end stays in memory, all of it.
std::vector<std::string> holding(std::int64_t mib, const std::string& then) {
  return {"/bin/sh", "-c",
          "(head -c " + std::to_string(mib) + "M /dev/zero; " + then + ") | tail >/dev/null"};
}

class Memory : public ::testing::TestWithParam<const char*> {};

TEST_P(Memory, WhoUsesMoreThanItAskedForIsEnded) {
  const Live live(
      {"--resources", "node=1/core=2", "--conf", std::string("job.tracking=") + GetParam()});
  const auto id = live.job(holding(300, "sleep 1000"), with_memory(100 * kMib));
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "FAILED");
  EXPECT_EQ(job.exit_code, 137);
  EXPECT_THAT(job.reason, HasSubstr("memory limit: its tasks used"));
  EXPECT_THAT(job.reason, HasSubstr("on node0, and asked for 100 MiB"));
  EXPECT_GT(job.max_rss_kb, 100 * 1024);
}

TEST_P(Memory, WhoUsesLessIsLeftAloneAndItsPeakIsKept) {
  const Live live(
      {"--resources", "node=1/core=2", "--conf", std::string("job.tracking=") + GetParam()});
  const auto id = live.job(holding(100, "sleep 1"), with_memory(200 * kMib));
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_GT(job.max_rss_kb, 100 * 1024);
  EXPECT_LT(job.max_rss_kb, 200 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Tracking, Memory, ::testing::Values("process", "auto"));

TEST(MemoryOfJobs, TasksOfOneNodeHaveWhatTheyAskedForTogether) {
  const Live live({"--resources", "node=1/core=2"});
  const auto one = live.job(holding(150, "sleep 1"), with_memory(100 * kMib, 2));
  const auto job = live.wait_one(one);
  EXPECT_EQ(job.result, "FAILED") << "300 MiB of 200";
  EXPECT_THAT(job.reason, HasSubstr("and asked for 200 MiB"));
}

// Four processes with the same pages.
TEST(MemoryOfJobs, PagesThatProcessesShareCountOnce) {
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job(
      {"/usr/bin/perl", "-e", "$text = 'a' x 80000000; fork; fork; select(undef, undef, undef, 2)"},
      with_memory(256 * kMib));
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
}

TEST(MemoryOfJobs, AnInstanceMayKeepNobodyToIt) {
  const Live live({"--resources", "node=1/core=1", "--conf", "job.keep-memory=false"});
  const auto id = live.job(holding(100, "sleep 1"), with_memory(10 * kMib));
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

}  // namespace
}  // namespace holon::instance
