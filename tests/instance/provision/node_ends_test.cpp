// Nodes that have joined from a batch job, or for a while: jobs that would outlast them are not
// placed there, and when the time has come they leave. The batch system is a program that answers
// what a file says.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "msg/resource.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/remote/guest.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::Guest;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::said_by;

class NodeEndsTest : public ::testing::Test {
 protected:
  std::string invitation(const std::string& name) const {
    const std::string file = live_.dir() + "/" + name;
    const auto [said, code] =
        said_by("HOLON_URI=" + live_.uri() + " " HOLON_BINARY " invite " + file);
    EXPECT_EQ(code, 0) << said;
    return file;
  }
  bool has_nodes(std::int64_t n) const {
    return eventually([&] {
      const auto status = live_.status();
      return status && status->nodes == n;
    });
  }
  // squeue(1) of a batch job with so much time left, for the agent's PATH.
  std::map<std::string, std::string> in_slurm(const std::string& time_left) const {
    const std::string folder = live_.dir() + "/slurm";
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/squeue")
        << "#!/bin/sh\necho \"$@\" >> " << folder << "/asked\ncat " << folder << "/left\n";
    chmod((folder + "/squeue").c_str(), 0755);
    leave(time_left);
    return {{"SLURM_JOB_ID", "77"}, {"PATH", folder + ":" + std::getenv("PATH")}};
  }
  void leave(const std::string& time) const {
    const std::string file = live_.dir() + "/slurm/left";
    std::ofstream(file + ".new") << time << '\n';
    std::filesystem::rename(file + ".new", file);
  }
  // Of a job on all cores of both nodes; 0 s: without a limit.
  JobOptions everywhere(double limit) const {
    JobOptions options;
    options.tasks = 2 * cores_;
    options.duration = limit;
    return options;
  }
  // With one of these words in its reason.
  bool waits_with_one_of(std::uint64_t job, const std::vector<std::string>& words) const {
    return eventually([&] {
      const std::string reason = live_.record(job).reason;
      return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return reason.find(word) != std::string::npos;
      });
    });
  }
  bool waits_with(std::uint64_t job, const std::string& word) const {
    return waits_with_one_of(job, {word});
  }
  void SetUp() override {
    const auto status = live_.status();
    ASSERT_TRUE(status);
    cores_ = status->cores;
  }

  const Live live_{{"--joinable", "--conf", "instance.address=127.0.0.1", "--conf",
                    "batch.margin=0s", "--conf", "batch.interval=1s", "--conf",
                    "queue.policy=easy"}};
  std::int64_t cores_ = 0;
};

TEST_F(NodeEndsTest, AJobThatWouldOutlastANodeWaitsForAnother) {
  const Guest guest(invitation("key"), "guest", {"--until", "+1h"});
  ASSERT_TRUE(has_nodes(2));
  const auto endless = live_.job({"/bin/true"}, everywhere(0));
  EXPECT_TRUE(waits_with(endless, "of it gone, and it has no time limit to end before that"))
      << live_.record(endless).reason;
  const auto too_long = live_.job({"/bin/true"}, everywhere(2 * 3600));
  const auto in_time = live_.job({"/bin/true"}, everywhere(60));
  EXPECT_EQ(live_.wait_one(in_time).result, "COMPLETED");
  EXPECT_TRUE(waits_with(too_long, "guest of it gone, before its time limit would end"))
      << live_.record(too_long).reason;
  live_.kill_broker();
  EXPECT_EQ(live_.wait_one(live_.job({"/bin/true"}, everywhere(60))).result, "COMPLETED");
  EXPECT_TRUE(waits_with(endless, "no time limit to end before that"))
      << "the broker after that one knows it: " << live_.record(endless).reason;
}

TEST_F(NodeEndsTest, ABatchJobsEndIsFollowed) {
  const Guest guest(invitation("key"), "guest", {}, in_slurm("5:00"));
  ASSERT_TRUE(has_nodes(2));
  const auto job = live_.job({"/bin/true"}, everywhere(3600));
  EXPECT_TRUE(waits_with(job, "guest of it gone")) << live_.record(job).reason;
  EXPECT_THAT(testing::read_file(live_.dir() + "/slurm/asked"), HasSubstr("-h -j 77 -o %L"));
  leave("2:00:00");  // scontrol update TimeLimit
  EXPECT_EQ(live_.wait_one(job).result, "COMPLETED");
}

TEST_F(NodeEndsTest, ANodeLeavesWhenItsBatchJobEnds) {
  Guest guest(invitation("key"), "guest", {}, in_slurm("10:00"));
  ASSERT_TRUE(has_nodes(2));
  JobOptions retried = everywhere(300);
  retried.system = R"({"holon":{"requeue":1}})";
  const auto lost = live_.job({"/bin/sleep", "1000"}, retried);
  live_.when_running(lost);
  leave("0:00");  // somebody has cut its time short
  EXPECT_EQ(guest.wait(), 0) << "it is sent home";
  EXPECT_TRUE(waits_with_one_of(lost, {"needs more than is here", "drained", "down"}))
      << live_.record(lost).state << ": " << live_.record(lost).reason;
  EXPECT_EQ(live_.record(lost).retries, 1U);
  const Guest again(invitation("another"), "guest");
  live_.when_running(lost);
}

// Nothing is placed on a node as long as its end is not known.
TEST_F(NodeEndsTest, ANodeTakesNoWorkBeforeItsEndIsKnown) {
  const auto environment = in_slurm("1:00:00");
  const std::string squeue = live_.dir() + "/slurm/squeue", gate = live_.dir() + "/slurm/gate";
  mkfifo(gate.c_str(), 0600);
  std::ofstream(squeue) << "#!/bin/sh\nread line < " << gate << "\ncat " << live_.dir()
                        << "/slurm/left\n";
  const Guest guest(invitation("key"), "guest", {}, environment);
  ASSERT_TRUE(has_nodes(2));
  const auto job = live_.job({"/bin/true"}, everywhere(60));
  ASSERT_EQ(live_.wait_one(live_.job({"/bin/true"})).result, "COMPLETED") << "on the other node";
  EXPECT_EQ(live_.record(job).t_start, 0);
  live_.release("slurm/gate");
  EXPECT_EQ(live_.wait_one(job).result, "COMPLETED");
}

}  // namespace
}  // namespace holon::instance
