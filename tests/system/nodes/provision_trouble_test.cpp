// Batch jobs that bring nodes, where a batch system is slow or refuses: its programs are the
// test's own.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

// The queue is a folder with a file for each batch job, which has its line of squeue. None of them
// ever runs by itself.
class ProvisionTrouble : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"bin", "queue"})
      std::filesystem::create_directory(sandbox_.folder() + "/" + folder);
    auto& environment = sandbox_.environment();
    environment["PATH"] = sandbox_.folder() + "/bin:" + environment["PATH"];
    environment["AT"] = sandbox_.folder();
    program("sbatch",
            "for word; do case $word in --job-name=*) name=${word#--job-name=};; esac; done\n"
            "echo x >> \"$AT/ids\"; id=$(wc -l < \"$AT/ids\")\n"
            "echo \"$id|PD|$name\" > \"$AT/queue/$id\"\n"
            "echo $id\n");
    program(
        "squeue",
        "case $* in *%L*) while [ -e \"$AT/hold\" ]; do sleep 0.05; done; echo 20:00; exit;; esac\n"
        "cat \"$AT\"/queue/* 2> /dev/null; exit 0\n");
    program("scancel",
            "[ ! -e \"$AT/refuse\" ] || { echo x >> \"$AT/refused\"; echo no >&2; exit 1; }\n"
            "[ ! -e \"$AT/hang\" ] || { : > \"$AT/hangs\"; exec sleep 1000; }\n"
            "for id; do rm -f \"$AT/queue/$id\"; done\n");
    root_ = std::make_unique<Instance>(
        sandbox_,
        std::vector<std::string>{"--joinable", "--state-dir", sandbox_.folder() + "/state",
                                 "--conf", "instance.address=127.0.0.1", "--conf",
                                 "batch.interval=1s", "--conf", "batch.margin=5s"});
    own_cores_ = sandbox_.json({"uptime"})["cores"].get<std::int64_t>();
  }
  // 0: there is none.
  pid_t agent() const {
    const auto agents = sandbox_.processes({"holon agent"});
    return agents.empty() ? 0 : agents[0];
  }
  // Returns when the instance ends and the agent runs the command that takes back the one batch job
  // there is.
  void end_with_a_cancel_that_hangs() {
    provide();
    submit_wider(1);
    ASSERT_TRUE(eventually([&] { return queued() == 1 && batch_jobs()[0]["state"] == "queued"; }));
    const auto supervisors = sandbox_.processes({"holon start"});
    ASSERT_EQ(supervisors.size(), 1U);
    touch("hang");
    kill(supervisors[0], SIGTERM);
    ASSERT_TRUE(eventually([&] { return exists("hangs"); }));
  }
  void program(const std::string& name, const std::string& text) {
    sandbox_.write_file("bin/" + name, "#!/bin/sh\n" + text, true);
  }
  void touch(const std::string& name) const { std::ofstream(sandbox_.folder() + "/" + name); }
  void remove(const std::string& name) const {
    std::filesystem::remove(sandbox_.folder() + "/" + name);
  }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(sandbox_.folder() + "/" + name);
  }
  std::size_t queued() const {
    const std::filesystem::directory_iterator all(sandbox_.folder() + "/queue");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  void submit_wider(std::int64_t by) {
    sandbox_.ok({"submit", "-n", std::to_string(own_cores_ + by), "-t", "5", "true"});
  }
  void provide(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"provision", "slurm", "-t", "20", "--patience", "0s"};
    words.insert(words.end(), more.begin(), more.end());
    sandbox_.ok(words);
  }
  std::int64_t would_ask(const std::string& minutes) {
    return sandbox_.json({"provision", "slurm", "-t", minutes, "--dry-run"})["batch_jobs"]
        .get<std::int64_t>();
  }
  nlohmann::json batch_jobs() { return sandbox_.json({"provision", "list"})["batch_jobs"]; }

  Sandbox sandbox_;
  std::unique_ptr<Instance> root_;
  std::int64_t own_cores_ = 0;
};

TEST_F(ProvisionTrouble, WhatTheBatchSystemDoesNotLetGoIsTakenBackLater) {
  provide();
  submit_wider(1);
  ASSERT_TRUE(eventually([&] { return queued() == 1 && batch_jobs()[0]["state"] == "queued"; }));
  touch("refuse");
  sandbox_.ok({"provision", "remove", "1"});
  ASSERT_TRUE(eventually([&] { return exists("refused"); }));
  EXPECT_EQ(queued(), 1U);
  remove("refuse");
  EXPECT_TRUE(eventually([&] { return queued() == 0; }));
  EXPECT_TRUE(eventually([&] { return batch_jobs().empty(); }));
}

class AgentLost : public ProvisionTrouble, public testing::WithParamInterface<int> {};

// The supervisor ends the instance, and starts another agent for that.
TEST_P(AgentLost, WhatItDidNotLiveToTakeBackTheNextOneDoes) {
  end_with_a_cancel_that_hangs();
  remove("hang");
  const pid_t pid = agent();
  ASSERT_NE(pid, 0);
  kill(pid, GetParam());
  EXPECT_EQ(root_->end().code, 128 + SIGTERM)
      << "the program was told to end before its input ended";
  EXPECT_EQ(queued(), 0U);
}
// SIGTERM: as when every process of the instance is told to end.
INSTANTIATE_TEST_SUITE_P(By, AgentLost, testing::Values(SIGKILL, SIGTERM));

// Neither is it waited for, nor is the end another one than it was.
TEST_F(ProvisionTrouble, AnAgentThatEndsAgainAndAgainIsGivenUpAtTheEnd) {
  constexpr int kTimes = 6;
  end_with_a_cancel_that_hangs();
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(eventually([&] { return agent() != 0; })) << i;
    const pid_t pid = agent();
    kill(pid, SIGKILL);
    ASSERT_TRUE(eventually([&] { return agent() != pid; }));
  }
  const auto given_up = std::chrono::steady_clock::now();
  const auto ran = root_->end();
  EXPECT_LT(std::chrono::steady_clock::now() - given_up, std::chrono::seconds(20))
      << "instance.shutdown-timeout has 30 s";
  EXPECT_EQ(ran.code, 128 + SIGTERM);
  EXPECT_THAT(ran.err, testing::HasSubstr("6 times within 60 s; giving up"));
  EXPECT_EQ(queued(), 1U);
}

TEST_F(ProvisionTrouble, TwoProvisionsDoNotAskForTheSameJob) {
  provide();
  provide();
  submit_wider(1);
  ASSERT_TRUE(eventually([&] { return !batch_jobs().empty(); }));
  EXPECT_EQ(batch_jobs().size(), 1U) << "both look at the plan in the same turn";
  EXPECT_EQ(would_ask("20"), 0);
  EXPECT_EQ(would_ask("40"), 1) << "a node that stays for longer may be what is missing";
}

// A batch job of two nodes, of which one has come: the other is on its way. So is the first one, as
// long as the batch system has not said when it ends.
TEST_F(ProvisionTrouble, ANodeThatIsLateIsNotAskedForAgain) {
  touch("hold");
  provide({"-N", "2"});
  submit_wider(own_cores_ + 1);  // two nodes more
  ASSERT_TRUE(eventually([&] { return queued() == 1 && batch_jobs()[0]["state"] == "queued"; }));
  const auto line = sandbox_.read_file("queue/1");
  sandbox_.write_file("queue/1", "1|R|" + line.substr(line.rfind('|') + 1));
  auto& environment = sandbox_.environment();
  environment["SLURM_JOB_ID"] = "1";
  environment["SLURMD_NODENAME"] = "n1";
  Process node = sandbox_.start({"join", "--key", sandbox_.folder() + "/state/provision/1.key"});
  environment.erase("SLURM_JOB_ID");
  environment.erase("SLURMD_NODENAME");
  ASSERT_TRUE(eventually([&] { return batch_jobs()[0]["came"] == true; })) << batch_jobs().dump();
  EXPECT_EQ(would_ask("20"), 0) << "its end is not known";
  remove("hold");
  EXPECT_EQ(would_ask("20"), 0);
  EXPECT_EQ(batch_jobs().size(), 1U);
  sandbox_.ok({"cancel", "--all"});
  root_->end();
  node.finish();  // its agent goes a moment after the root
}

}  // namespace
}  // namespace holon::system_test
