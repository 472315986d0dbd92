// Hosts that share no state directory: what a task writes on another one is read while it runs, and
// lies beside the journal when it is over.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "places.hpp"  // written by CMake
#include "tests/system/nodes/private_hosts.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

class Unshared : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
    hosts_ = std::make_unique<PrivateHosts>(sandbox_, 3, PrivateHosts::Files::own);
    ASSERT_TRUE(hosts_->up());
    instance_ = std::make_unique<Process>(hosts_->start(
        1, {HOLON_BINARY, "start", "--state-dir", state(), "--hosts", "n[1-3]", "--conf",
            "launch.ssh=" + hosts_->remote_shell(), "--conf", "job.output-limit=5M", "--", "sh",
            "-c", "echo $HOLON_URI; exec cat > /dev/null"}));
    sandbox_.environment()["HOLON_URI"] = instance_->read_line();
  }
  void TearDown() override {
    if (instance_) {
      EXPECT_EQ(instance_->finish().code, 0);
      for (std::size_t host = 1; host <= 3; ++host)
        EXPECT_EQ(hosts_->run(host, {"ls", sandbox_.folder() + "/tmp"}).out, "") << host;
    }
    hosts_.reset();
  }

  // Each host has another one under this name.
  std::string state() const { return sandbox_.folder() + "/state/kept"; }
  std::string ok(std::vector<std::string> words) {
    const Ran ran = hosts_->holon(1, words);
    EXPECT_EQ(ran.code, 0) << testing::PrintToString(words) << ran.out << ran.err;
    return ran.out;
  }
  // A job on n3 that has written a line and goes on when release() is called; its output so far.
  Process gated_run(const std::string& then) {
    const std::string script =
        fmt::format("echo on $(hostname); while [ ! -e {}/gate ]; do sleep 0.05; done; {}",
                    sandbox_.folder(), then);
    return hosts_->start(1, {HOLON_BINARY, "run", "-w", "n3", "sh", "-c", script});
  }
  void release() { sandbox_.write_file("gate", "go"); }

  Sandbox sandbox_;
  std::unique_ptr<PrivateHosts> hosts_;
  std::unique_ptr<Process> instance_;
};

TEST_F(Unshared, OutputIsReadLiveAndKeptBesideTheJournal) {
  Process run = gated_run("echo and on; echo wrong >&2; exit 3");
  EXPECT_EQ(run.read_line(), "on n3") << "while it runs";
  release();
  const Ran ran = run.finish();
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(ran.out, "and on\n");
  EXPECT_THAT(ran.err, HasSubstr("wrong\n"));
  EXPECT_EQ(ok({"job", "output", "1"}), "on n3\nand on\n");
  EXPECT_EQ(hosts_->run(1, {"cat", state() + "/output/1.out"}).out, "on n3\nand on\n");
}

TEST_F(Unshared, WhatAKilledAgentHadNotHandedOverTheNextOneBrings) {
  Process run = gated_run("echo never");
  EXPECT_EQ(run.read_line(), "on n3");
  EXPECT_EQ(hosts_->run(3, {"sh", "-c", "kill -9 $(pgrep -f -- --hande[d])"}).code, 0);
  EXPECT_NE(run.finish().code, 0);
  const std::string file = state() + "/output/1.out";
  EXPECT_EQ(
      hosts_
          ->run(1, {"timeout", "60", "sh", "-c", "until [ -s " + file + " ]; do sleep 0.05; done"})
          .code,
      0);
  EXPECT_EQ(ok({"job", "output", "1"}), "on n3\n");
}

TEST_F(Unshared, EachNodeOfAJobHandsOverItsPart) {
  const std::string script = "echo out of $(hostname); echo error of $(hostname) >&2";
  const Ran ran = hosts_->holon(1, {"run", "-N3", "-n3", "sh", "-c", script});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran later = hosts_->holon(1, {"job", "output", "1"});
  for (const Ran* said : {&ran, &later})
    for (std::size_t host = 1; host <= 3; ++host) {
      EXPECT_THAT(said->out, HasSubstr(fmt::format("out of n{}\n", host)));
      EXPECT_THAT(said->err, HasSubstr(fmt::format("error of n{}\n", host)));
    }
}

// No node sees where they were: each agent writes them, and TearDown() looks that none is left.
TEST_F(Unshared, FilesThatGoAlongAreOnEachNode) {
  const std::string file = sandbox_.write_file("fit.toml", "rate = 3\n");
  const Ran ran = hosts_->holon(
      1, {"run", "-N3", "-n3", "--add-file", file, "--add-file", "go:700=" + file, "sh", "-c",
          "echo $(hostname) $(cat {{tmpdir}}/fit.toml) $(stat -c %a {{tmpdir}}/go)"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (std::size_t host = 1; host <= 3; ++host)
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("n{} rate = 3 700\n", host)));
  Process run = hosts_->start(1, {HOLON_BINARY, "run", "-w", "n3", "--add-file", file, "sh", "-c",
                                  "cat {{tmpdir}}/fit.toml; exec sleep 1000"});
  EXPECT_EQ(run.read_line(), "rate = 3");
  EXPECT_EQ(hosts_->run(3, {"sh", "-c", "kill -9 $(pgrep -f -- --hande[d])"}).code, 0);
  EXPECT_NE(run.finish().code, 0);
  EXPECT_EQ(hosts_
                ->run(3, {"timeout", "60", "sh", "-c",
                          "until [ -z \"$(ls " + sandbox_.folder() +
                              "/tmp | grep holon-job-)\" ]; do sleep 0.05; done"})
                .code,
            0);
}

TEST_F(Unshared, MuchOutputHasItsLimitAndTheRestIsWhole) {
  const auto write = [](int bytes) { return fmt::format("yes 0123456 | head -c {}", bytes); };
  ok({"submit", "-w", "n2", "sh", "-c", write(3'000'000)});
  ok({"submit", "-w", "n3", "sh", "-c", write(8'000'000)});
  ok({"job", "wait", "1", "2"});
  const std::string whole = ok({"job", "output", "1"});
  EXPECT_EQ(whole.size(), 3'000'000U);
  EXPECT_EQ(whole.substr(whole.size() - 16), "0123456\n0123456\n");
  const std::string cut = ok({"job", "output", "2"});
  EXPECT_EQ(cut.substr(0, 5 << 20).find_first_not_of("0123456\n"), std::string::npos);
  EXPECT_THAT(cut.substr(5 << 20), HasSubstr("the output was cut here, at 5242880 bytes"));
  EXPECT_LT(cut.size(), (5U << 20) + 200);
}

TEST_F(Unshared, AnotherBrokerGetsWhatTheFirstOneDidNot) {
  Process run = gated_run("yes 0123456 | head -c 2000000");
  EXPECT_EQ(run.read_line(), "on n3");
  for (const pid_t broker : sandbox_.processes({"holon broker"})) kill(broker, SIGKILL);
  release();
  run.finish();
  hosts_->holon(1, {"job", "wait", "1"});
  EXPECT_EQ(ok({"job", "output", "1"}).size(), 2'000'000U + 6);
  EXPECT_THAT(ok({"job", "info", "1"}), HasSubstr("COMPLETED"));
}

// What it has kept goes with it, as its socket does: TearDown() looks.
TEST_F(Unshared, AKilledAgentLeavesNothingBehindAndTheNextOneKeepsOutputAgain) {
  Process run = gated_run("echo never");
  EXPECT_EQ(run.read_line(), "on n3");
  for (const pid_t agent : sandbox_.processes({"agent --rank 2"})) kill(agent, SIGKILL);
  EXPECT_NE(run.finish().code, 0);
  EXPECT_THAT(ok({"job", "info", "1"}), HasSubstr("the agent on n3 died while the job ran"));
  release();
  Process next = gated_run("echo and on");
  EXPECT_EQ(next.finish().out, "on n3\nand on\n");
}

}  // namespace
}  // namespace holon::system_test
