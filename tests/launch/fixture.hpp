// fixture.hpp - a reactor, a scratch directory and builders of jobs, for tests with real processes.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "launch/jobs.hpp"
#include "launch/tracking/process.hpp"
#include "transport/endpoint.hpp"

namespace holon::launch {

constexpr Duration kPatience = 20000;  // ms; only a failing test waits so long

class ProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = *transport::make_runtime_dir();
    before_ = std::signal(SIGPIPE, SIG_IGN);  // as in an agent: tasks may not read what they get
    if (const char* const place = std::getenv("TMPDIR")) tmpdir_before_ = place;
    setenv("TMPDIR", dir_.c_str(), 1);  // an agent removes what others have left there
  }
  void TearDown() override {
    std::signal(SIGPIPE, before_);
    tmpdir_before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", tmpdir_before_.c_str(), 1);
    std::filesystem::remove_all(dir_);
  }

  // Asks again every 2 ms, for what happens outside the reactor.
  bool until(const std::function<bool()>& done) {
    const auto tick = reactor_->every(2, [] {});
    return reactor_->run_until(done, kPatience);
  }

  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool alive(pid_t pid) {
    const auto stat = stat_of(pid);
    return stat && stat->state != 'Z';
  }

  // One task `sh -c script` writing to DIR/JOB.out.
  msg::Start start(std::uint64_t job, std::uint32_t ntasks = 1) {
    msg::Start start;
    start.job = job;
    start.path = "/" + std::to_string(job);
    start.ntasks = ntasks;
    start.nodelist = "localhost";
    start.bind = false;
    start.output = dir_ + "/" + std::to_string(job) + ".out";
    for (std::uint32_t rank = 0; rank < ntasks; ++rank) start.tasks.push_back({rank, "", ""});
    return start;
  }
  msg::Program program(std::vector<std::string> argv) {
    msg::Program program;
    program.argv = std::move(argv);
    program.env = {{"PATH", "/usr/bin:/bin"}};
    program.cwd = dir_;
    return program;
  }
  msg::Program shell(const std::string& script) { return program({"sh", "-c", script}); }
  msg::StartRequest request(msg::Program what, msg::Start how) {
    return {{std::move(what)}, {std::move(how)}};
  }

  std::string dir_;
  void (*before_)(int) = SIG_DFL;  // what SIGPIPE did
  std::string tmpdir_before_;
  std::unique_ptr<transport::Reactor> reactor_ = std::move(*transport::Reactor::create());
};

class JobsTest : public ProcessTest {
 protected:
  JobsTest() {
    auto node = Node::discover("");
    auto processes = own_processes(*reactor_);
    NodeFrame frame{node->cpuset(), {}, false, false};
    jobs_ = std::make_unique<Jobs>(
        JobContext{*reactor_, std::move(*processes), std::move(*node), std::move(frame)});
    jobs_->on_started([this](const msg::Started& started) { started_[started.job] = started; });
    jobs_->on_finished([this](const msg::Finished& finished) {
      finished_[finished.job] = finished;
      ++ends_;
    });
  }

  // Runs one job to its end.
  msg::Finished run(msg::Program what, msg::Start how) {
    const std::uint64_t job = how.job;
    EXPECT_TRUE(jobs_->start(request(std::move(what), std::move(how))));
    EXPECT_TRUE(until([&] { return finished_.contains(job); }));
    return finished_[job];
  }
  msg::Finished run(const std::string& script) { return run(shell(script), start(1)); }
  std::string output(std::uint64_t job = 1) {
    return read(dir_ + "/" + std::to_string(job) + ".out");
  }

  std::unique_ptr<Jobs> jobs_;
  std::map<std::uint64_t, msg::Started> started_;
  std::map<std::uint64_t, msg::Finished> finished_;
  int ends_ = 0;
};

}  // namespace holon::launch
