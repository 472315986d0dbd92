// A job is over when its processes are, whatever they did to get away: with cgroups, and without.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>

#include "launch/tracking/cgroup.hpp"
#include "launch/tracking/lineage.hpp"
#include "launch/tracking/tracking.hpp"
#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

// "" where none can be made.
std::string cgroup_for_test() {
  const auto own = own_cgroup();
  const std::string dir = own ? *own + "/holon-test-" + std::to_string(getpid()) : "";
  return own && make_cgroup(dir) ? dir : "";
}

class TrackingTest : public ProcessTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (std::string(GetParam()) == "cgroup") {
      cgroup_ = cgroup_for_test();
      if (cgroup_.empty()) GTEST_SKIP() << "no cgroup can be made here";
    }
    make_jobs();
  }
  void TearDown() override {
    jobs_.reset();
    if (!cgroup_.empty()) {
      kill_cgroup(cgroup_);
      until([&] { return !is_populated(cgroup_); });
      remove_cgroup(cgroup_);
    }
    ProcessTest::TearDown();
  }
  void make_jobs() {
    auto node = Node::discover("");
    NodeFrame frame{node->cpuset(), {}, false, false, "test/"};
    jobs_ = std::make_unique<Jobs>(JobContext{*reactor_, std::move(*own_processes(*reactor_)),
                                              std::move(*node), std::move(frame),
                                              std::make_unique<ProcessTracking>("test/", cgroup_)});
    jobs_->on_finished([this](const msg::Finished& finished) {
      finished_[finished.job] = finished;
      if (at_end_) at_end_(finished.job);
    });
  }
  // Waits for the process whose number the script writes to `file`.
  pid_t pid_in(const std::string& file) {
    EXPECT_TRUE(until([&] { return read(dir_ + "/" + file).ends_with('\n'); }));
    return std::stoi(read(dir_ + "/" + file));
  }
  std::string output(std::uint64_t job) { return read(dir_ + "/" + std::to_string(job) + ".out"); }

  std::string cgroup_;
  std::unique_ptr<Jobs> jobs_;
  std::map<std::uint64_t, msg::Finished> finished_;
  std::function<void(std::uint64_t)> at_end_;
};

// On kernels without cgroup.kill. A process was in the cgroup, and its number has become another's
// when it is to be signalled: the list, read again, does not have it.
TEST(Cgroup, NobodyIsKilledWhoHasANumberThatWasInIt) {
  const std::string dir = *transport::make_runtime_dir() + "/0";  // is in the name of any cgroup
  ASSERT_EQ(mkdir(dir.c_str(), 0700), 0);
  const std::string list = dir + "/cgroup.procs";
  ASSERT_EQ(mkfifo(list.c_str(), 0600), 0);
  const pid_t bystander = fork();
  if (bystander == 0)
    for (;;) pause();
  std::atomic<bool> stop = false;
  // The number for whoever opens the list first, nothing for those after that.
  std::thread kernel([&] {
    for (std::string text = std::to_string(bystander) + "\n"; !stop; text.clear()) {
      int fd = -1;
      while (!stop && (fd = open(list.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        std::this_thread::yield();
      if (fd < 0) continue;
      EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      close(fd);
      // The reader is through when nobody has the list open any more.
      while (!stop && (fd = open(list.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0) close(fd);
    }
  });
  kill_cgroup(dir);
  stop = true;
  kernel.join();
  EXPECT_EQ(waitpid(bystander, nullptr, WNOHANG), 0) << "it was killed";
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
  std::filesystem::remove_all(std::filesystem::path(dir).parent_path());
}

INSTANTIATE_TEST_SUITE_P(With, TrackingTest, testing::Values("cgroup", "process"),
                         [](const auto& kind) { return kind.param; });

// Each leaves a process behind that writes its number to `left`.
constexpr const char* kWaysOut[] = {
    "sh -c 'echo $$ > left; exec sleep 1000' &",
    "setsid sh -c 'echo $$ > left; exec sleep 1000' &",
    "setsid sh -c '(trap \"\" TERM HUP; sh -c \"echo \\$\\$ > left; exec sleep 1000\" &)' &",
    "env -i /bin/sh -c 'echo $$ > left; exec sleep 1000' &",
    "env -i setsid /bin/sh -c '(/bin/sh -c \"echo \\$\\$ > left; exec sleep 1000\" &)' &",
};

TEST_P(TrackingTest, AJobsEndIsToldWhenNothingIsLeftOfIt) {
  std::uint64_t job = 0;
  for (const char* way : kWaysOut) {
    std::filesystem::remove(dir_ + "/left");
    std::optional<bool> outlived;
    at_end_ = [&](std::uint64_t) { outlived = alive(std::stoi(read(dir_ + "/left"))); };
    const std::string script = std::string(way) + " until [ -s left ]; do sleep 0.01; done";
    ASSERT_TRUE(jobs_->start(request(shell(script), start(++job))));
    ASSERT_TRUE(until([&] { return outlived.has_value(); })) << way;
    EXPECT_FALSE(*outlived) << way;
    EXPECT_EQ(finished_[job].exit_code, 0) << way;
  }
}

// The one that gave its environment away is told by its session, or by its cgroup.
TEST_P(TrackingTest, WhatAnotherJobLeavesToUsIsLeftAlone) {
  ASSERT_TRUE(jobs_->start(
      request(shell("(env -i /bin/sh -c 'echo $$ > left; exec sleep 1000' &); exec sleep 1000"),
              start(1))));
  const pid_t left = pid_in("left");
  ASSERT_TRUE(until([&] { return stat_of(left)->parent == getpid(); }));
  ASSERT_TRUE(jobs_->start(request(shell("setsid sleep 1000 &"), start(2))));
  ASSERT_TRUE(until([&] { return finished_.contains(2); }));
  EXPECT_TRUE(alive(left));
  std::optional<bool> outlived;
  at_end_ = [&](std::uint64_t) { outlived = alive(left); };
  jobs_->kill({{1}, 0});
  ASSERT_TRUE(until([&] { return outlived.has_value(); }));
  EXPECT_FALSE(*outlived);
}

// Nothing but its output tells whose it is.
TEST_P(TrackingTest, WhatHasNothingLeftOfItsJobIsKnownByWhereItWrites) {
  ASSERT_TRUE(jobs_->start(request(shell("exec sleep 1000"), start(1))));
  std::optional<bool> outlived;
  at_end_ = [&](std::uint64_t) { outlived = alive(std::stoi(read(dir_ + "/left"))); };
  const std::string script = std::string(kWaysOut[4]) + " until [ -s left ]; do sleep 0.01; done";
  ASSERT_TRUE(jobs_->start(request(shell(script), start(2))));
  ASSERT_TRUE(until([&] { return outlived.has_value(); }));
  EXPECT_FALSE(*outlived);
}

// A child instance's own cgroups lie below the one of its job.
TEST_P(TrackingTest, TasksStartInTheJobsCgroupAndTheNextJobGetsItEmpty) {
  if (cgroup_.empty()) GTEST_SKIP() << "about cgroups";
  const auto where = [&](std::uint64_t job) {
    EXPECT_TRUE(jobs_->start(request(shell("grep ^0:: /proc/self/cgroup"), start(job))));
    EXPECT_TRUE(until([&] { return finished_.contains(job); }));
    return output(job);
  };
  const std::string first = where(1);
  EXPECT_NE(first.find("holon-test-"), std::string::npos) << first;
  EXPECT_EQ(where(2), first) << "an empty one is used again";
  const std::string below = cgroup_ + "/job-1/below";
  const std::string script = "mkdir -p " + below + "/it && echo $$ > " + below +
                             "/it/cgroup.procs && (setsid sleep 1000 &)";
  ASSERT_TRUE(jobs_->start(request(shell(script), start(3))));
  ASSERT_TRUE(until([&] { return finished_.contains(3); }));
  EXPECT_EQ(finished_[3].exit_code, 0);
  where(4);
  EXPECT_FALSE(std::filesystem::exists(below));
}

TEST_P(TrackingTest, WithoutTheCgroupThatWasPromisedJobsRunAllTheSame) {
  if (cgroup_.empty()) GTEST_SKIP() << "about cgroups";
  remove_cgroup(cgroup_);
  for (const std::uint64_t job : {1, 2}) {
    std::optional<bool> outlived;
    at_end_ = [&](std::uint64_t) { outlived = alive(std::stoi(read(dir_ + "/left"))); };
    ASSERT_TRUE(jobs_->start(request(
        shell("setsid sleep 1000 & echo $! > left; until [ -s left ]; do :; done"), start(job))));
    ASSERT_TRUE(until([&] { return finished_.contains(job); }));
    EXPECT_EQ(finished_[job].exit_code, 0) << finished_[job].what;
    EXPECT_FALSE(*outlived);
  }
  EXPECT_NE(jobs_->trouble_with_cgroups().find(cgroup_), std::string::npos);
}

TEST_P(TrackingTest, AfterAJobThatLeftSomethingTheNextOneRuns) {
  for (const std::uint64_t job : {1, 2, 3}) {
    ASSERT_TRUE(jobs_->start(request(shell("setsid sleep 1000 & echo ran"), start(job))));
    ASSERT_TRUE(until([&] { return finished_.contains(job); }));
    EXPECT_EQ(finished_[job].exit_code, 0) << finished_[job].what;
    EXPECT_EQ(output(job), "ran\n");
  }
}

TEST_P(TrackingTest, ATaskHasASessionOfItsOwn) {
  ASSERT_TRUE(jobs_->start(request(shell("cut -d' ' -f5,6 /proc/$$/stat; echo $$"), start(1))));
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  std::istringstream said(output(1));
  pid_t group = 0, session = 0, pid = 0;
  said >> group >> session >> pid;
  EXPECT_GT(pid, 0);
  EXPECT_EQ(group, pid);
  EXPECT_EQ(session, pid);
}

}  // namespace
}  // namespace holon::launch
