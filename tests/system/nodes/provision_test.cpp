// Batch jobs that bring nodes to a root outside of any, in a real Slurm and a real Grid Engine.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/system/nodes/private_grid_engine.hpp"
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

// Nodes n1, n2 of two CPUs, all of which are this machine.
class Provision : public WithSlurm {
 protected:
  Provision() : WithSlurm(2, 2) {}
  void SetUp() override {
    WithSlurm::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    root_ = std::make_unique<Instance>(sandbox_, options());
    own_cores_ = sandbox_.json({"uptime"})["cores"].get<std::int64_t>();
  }
  void TearDown() override {
    root_.reset();
    WithSlurm::TearDown();
  }
  std::vector<std::string> options() const {
    return {"--joinable",
            "--state-dir",
            sandbox_.folder() + "/state",
            "--conf",
            "instance.address=127.0.0.1",
            "--conf",
            "batch.interval=1s",
            "--conf",
            "batch.margin=5s",
            "--conf",
            "queue.policy=easy"};
  }
  // More than the root has itself.
  std::string wider() const { return std::to_string(own_cores_ + 1); }
  nlohmann::json batch_jobs() { return sandbox_.json({"provision", "list"})["batch_jobs"]; }
  std::string listed_by_slurm() { return slurm_->run({"squeue", "-h", "-o", "%i %j %T"}).out; }
  std::size_t count_in_slurm() {
    const auto lines = listed_by_slurm();
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
  std::string reason(const std::string& job) {
    return sandbox_.json({"jobs", job})["jobs"][0]["reason"].get<std::string>();
  }

  std::unique_ptr<Instance> root_;
  std::int64_t own_cores_ = 0;
};

TEST_F(Provision, AWaitingJobGetsItsNodeAndTheNodeIsGivenBack) {
  EXPECT_EQ(sandbox_.ok({"provision", "slurm", "-t", "20", "--idle", "2s", "--patience", "0s"}),
            "1\n");
  const std::string job = sandbox_.ok(
      {"submit", "-n", wider(), "-t", "5", "sh", "-c", "echo $SLURM_JOB_NAME on $HOLON_NODELIST"});
  EXPECT_EQ(sandbox_.run({"job", "wait", job.substr(0, job.find('\n'))}).code, 0);
  EXPECT_TRUE(eventually([&] { return count_in_slurm() == 0; })) << listed_by_slurm();
  EXPECT_TRUE(eventually([&] { return batch_jobs().empty(); }));
  EXPECT_EQ(sandbox_.json({"provision", "list"})["provisions"][0]["failures"], 0);
  EXPECT_TRUE(std::filesystem::exists(sandbox_.folder() + "/state/provision/1.out"));
  EXPECT_FALSE(std::filesystem::exists(sandbox_.folder() + "/state/provision/1.key"))
      << "a secret that is of no use any more";
}

TEST_F(Provision, NothingIsSubmittedForWhatWouldOutlastABatchJob) {
  const std::vector<std::string> dry = {"provision", "slurm", "-t", "20", "--dry-run"};
  EXPECT_THAT(sandbox_.ok(dry), HasSubstr("no waiting job would start"));
  sandbox_.ok({"provision", "slurm", "-t", "20", "--patience", "0s"});
  const std::string endless = sandbox_.ok({"submit", "-n", wider(), "sleep", "1"});
  const std::string longer = sandbox_.ok({"submit", "-n", wider(), "-t", "20", "sleep", "1"});
  EXPECT_THAT(sandbox_.ok(dry), HasSubstr("no waiting job would start"));
  const std::string fits = sandbox_.ok({"submit", "-n", wider(), "-t", "19", "true"});
  EXPECT_EQ(sandbox_.run({"job", "wait", fits.substr(0, fits.find('\n'))}).code, 0);
  EXPECT_THAT(reason(endless.substr(0, endless.find('\n'))), HasSubstr("no time limit"));
  EXPECT_THAT(reason(longer.substr(0, longer.find('\n'))),
              HasSubstr("before its time limit would end"));
  sandbox_.ok({"cancel", "--all"});
  sandbox_.ok({"provision", "remove", "1"});
  EXPECT_TRUE(eventually([&] { return count_in_slurm() == 0; })) << listed_by_slurm();
}

TEST_F(Provision, ADryRunShowsTheVeryCommand) {
  const std::string all = std::to_string(own_cores_);
  sandbox_.ok({"submit", "-n", all, "-t", "60", "sleep", "1000"});
  sandbox_.ok({"submit", "-n", all, "-t", "5", "true"});
  const auto would = nlohmann::json::parse(
      sandbox_.ok({"provision", "slurm", "-t", "20", "--dry-run", "--json", "--", "-p", "short"}));
  EXPECT_EQ(would["batch_jobs"], 1);
  EXPECT_EQ(would["jobs"], nlohmann::json({2}));
  EXPECT_EQ(would["command"][0], "sbatch");
  EXPECT_THAT(would["command"].dump(), HasSubstr("--time=20"));
  EXPECT_THAT(would["command"].dump(), HasSubstr(R"("-p","short")"));
  EXPECT_THAT(would["script"].get<std::string>(), HasSubstr("'join' '--key'"));
  EXPECT_EQ(count_in_slurm(), 0U);
  EXPECT_TRUE(sandbox_.json({"provision", "list"})["provisions"].empty());
  sandbox_.ok({"cancel", "--all"});
}

// The queue of the batch system stands still: what is asked for waits in it.
TEST_F(Provision, ABrokerThatIsKilledNeitherSubmitsTwiceNorForgets) {
  for (const char* node : {"n1", "n2"})
    slurm_->run(
        {"scontrol", "update", std::string("nodename=") + node, "state=drain", "reason=test"});
  sandbox_.ok({"provision", "slurm", "-t", "20", "--patience", "0s", "--max-queued", "1"});
  const std::string text = sandbox_.ok({"submit", "-n", wider(), "-t", "5", "true"});
  const std::string job = text.substr(0, text.find('\n'));
  for (int round = 0; round < 5; ++round) {
    // What it is about to start in its turn has its words for a moment.
    std::vector<pid_t> brokers;
    ASSERT_TRUE(eventually([&] {
      brokers = sandbox_.processes({"holon broker"});
      return brokers.size() == 1;
    }));
    // Early and late: before the answer of sbatch, and after it.
    if (round > 0) {
      EXPECT_TRUE(eventually([&] { return count_in_slurm() == 1; })) << listed_by_slurm();
    }
    kill(brokers[0], SIGKILL);
    EXPECT_TRUE(eventually([&] {
      const auto now = sandbox_.processes({"holon broker"});
      return now.size() == 1 && now != brokers;
    }));
  }
  EXPECT_TRUE(eventually([&] {
    const auto jobs = batch_jobs();
    return jobs.size() == 1 && jobs[0]["state"] == "queued" && !jobs[0]["id"].empty();
  })) << batch_jobs().dump();
  EXPECT_EQ(count_in_slurm(), 1U) << listed_by_slurm();
  EXPECT_THAT(listed_by_slurm(), HasSubstr(batch_jobs()[0]["name"].get<std::string>()));
  EXPECT_TRUE(eventually([&] {
    return reason(job).find("is to bring nodes") != std::string::npos;
  })) << reason(job);
  for (const char* node : {"n1", "n2"})
    slurm_->run({"scontrol", "update", std::string("nodename=") + node, "state=resume"});
  EXPECT_EQ(sandbox_.run({"job", "wait", job}).code, 0);
  sandbox_.ok({"provision", "remove", "1"});
  EXPECT_TRUE(eventually([&] { return count_in_slurm() == 0; })) << listed_by_slurm();
}

TEST_F(Provision, WhatWaitsInTheQueueGoesWithTheInstance) {
  for (const char* node : {"n1", "n2"})
    slurm_->run(
        {"scontrol", "update", std::string("nodename=") + node, "state=drain", "reason=test"});
  sandbox_.ok({"provision", "slurm", "-t", "20", "--patience", "0s"});
  sandbox_.ok({"submit", "-n", wider(), "-t", "5", "true"});
  EXPECT_TRUE(eventually([&] { return count_in_slurm() == 1; })) << listed_by_slurm();
  root_.reset();
  EXPECT_TRUE(eventually([&] { return count_in_slurm() == 0; })) << listed_by_slurm();
}

TEST_F(Provision, AfterAFailureItWaitsAndSaysWhy) {
  sandbox_.ok({"provision", "slurm", "-t", "20", "--patience", "0s", "--", "-p", "nowhere"});
  const std::string text = sandbox_.ok({"submit", "-n", wider(), "-t", "5", "true"});
  EXPECT_TRUE(eventually([&] {
    return sandbox_.json({"provision", "list"})["provisions"][0]["failures"] == 1;
  }));
  const auto provision = sandbox_.json({"provision", "list"})["provisions"][0];
  EXPECT_THAT(provision["trouble"].get<std::string>(), HasSubstr("sbatch"));
  EXPECT_GT(provision["not_before"].get<double>(), 0);
  EXPECT_THAT(reason(text.substr(0, text.find('\n'))), HasSubstr("Slurm brings no nodes: "));
  sandbox_.ok({"cancel", "--all"});
}

// Hosts of their own, each with an address: the root is on "login".
TEST(ProvisionOnHosts, GridEngineBringsANode) {
  if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
  if (const auto why = PrivateGridEngine::missing(); !why.empty()) GTEST_SKIP() << why;
  Sandbox sandbox;
  PrivateHosts hosts(sandbox, 2);
  ASSERT_TRUE(hosts.up());
  PrivateGridEngine grid(sandbox, hosts, 2);
  ASSERT_TRUE(grid.up());
  const auto campaign = sandbox.write_file(
      "campaign.sh",
      "#!/bin/sh\n"
      "holon provision sge -t 20 --idle 2s --patience 0s > /dev/null\n"
      "own=$(holon uptime --json | sed 's/.*\"cores\": *\\([0-9]*\\).*/\\1/;t;d')\n"
      "holon run -t 5 -n $((own + 1)) --label-io sh -c 'echo on $JOB_NAME' > out || exit 9\n"
      "grep -c holon- out\n"
      "while [ -n \"$(qstat -u '*')\" ]; do holon provision list > /dev/null; done\n"
      "exit 7\n",
      true);
  const Ran ran = hosts.holon(0, {"start", "--joinable", "--conf", "batch.interval=1s", "--conf",
                                  "batch.margin=5s", campaign});
  EXPECT_EQ(ran.code, 7) << ran.out << ran.err << grid.jobs();
}

}  // namespace
}  // namespace holon::system_test
