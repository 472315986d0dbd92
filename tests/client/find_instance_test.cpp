// Whom a program finds while an instance's runtime directory, which somebody has removed, is made
// again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "client/find_instance.hpp"
#include "instance/process/runtime_files.hpp"

namespace holon::client {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::steady_clock;

// An instance's runtime directory with its supervisor's lock, and a process that says of itself
// what an agent says.
class RemovedRuntimeDir : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string base = ::testing::TempDir() + "holon-find-XXXXXX";
    base_ = mkdtemp(base.data());
    setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
    unsetenv("HOLON_URI");
    dir_ = base_ + "/holon-aaaaaa";
    uri_ = "ipc://" + dir_ + "/broker";
    fs::create_directory(dir_);
    fs::permissions(dir_, fs::perms::owner_all);
    std::ofstream(dir_ + "/instance.json") << R"({"start": {"name": "ada", "state_dir": "/s"}})";
    files_ = std::make_unique<instance::RuntimeFiles>(dir_, false);
    agent_ = fork();
    ASSERT_GE(agent_, 0);
    if (agent_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl("/bin/sh", "sh", "-c", "kill -STOP $$", "agent", "--broker-uri", uri_.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(agent_, &status, WUNTRACED), agent_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  void TearDown() override {
    kill(agent_, SIGKILL);
    waitpid(agent_, nullptr, 0);
    unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(base_);
  }

  // Returns so long after the directory is gone and the supervisor has begun to make it again.
  std::thread remove_and_restore(microseconds passed) {
    fs::remove_all(dir_);
    restored_ = false;
    std::thread supervisor([this] {
      EXPECT_TRUE(files_->restore());
      restored_ = true;
    });
    const auto due = steady_clock::now() + passed;
    while (steady_clock::now() < due) std::this_thread::yield();
    return supervisor;
  }

  std::string base_, dir_, uri_;
  std::unique_ptr<instance::RuntimeFiles> files_;
  std::atomic<bool> restored_{false};

 private:
  pid_t agent_ = -1;
};

TEST_F(RemovedRuntimeDir, IsFoundWhenItIsThereAgainWhateverWasLookedAtMeanwhile) {
  for (int i = 0; i < 100; ++i) {
    std::thread supervisor = remove_and_restore(microseconds(i * 50));
    const Result<std::string> found = find_instance();
    supervisor.join();
    ASSERT_TRUE(found) << "asked after " << i * 50 << " us: " << to_string(found.error());
    ASSERT_EQ(*found, uri_);
  }
}

TEST_F(RemovedRuntimeDir, MayComeBackAtEveryMoment) {
  for (int i = 0; i < 300; ++i) {
    std::thread supervisor = remove_and_restore(microseconds(0));
    int lost = 0;
    do lost += may_come_back(uri_) ? 0 : 1;
    while (!restored_);
    supervisor.join();
    ASSERT_EQ(lost, 0) << "at turn " << i;
  }
}

}  // namespace
}  // namespace holon::client
