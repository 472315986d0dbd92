// `holon start --bg`: who started it is told of the instance, or there is none.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <filesystem>
#include <optional>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

// A start whose instance is held back: its log is a pipe, which it opens before anything else, and
// nobody reads from that before let_go().
class HeldStart {
 public:
  explicit HeldStart(Sandbox& sandbox, std::vector<std::string> before = {})
      : log_(sandbox.folder() + "/state/instance.log") {
    std::filesystem::create_directory(sandbox.folder() + "/state");
    EXPECT_EQ(mkfifo(log_.c_str(), 0600), 0);
    before.insert(before.end(), {HOLON_BINARY, "start", "--bg", "--resources", "node=1/core=2",
                                 "--state-dir", sandbox.folder() + "/state"});
    process_.emplace(std::move(before), sandbox.environment(), sandbox.folder());
    EXPECT_TRUE(eventually([&] { return child_of(process_->pid()) != 0; }));
  }
  ~HeldStart() { close(log_fd_); }
  HeldStart(const HeldStart&) = delete;
  HeldStart& operator=(const HeldStart&) = delete;

  void signal(int number) const { process_->signal(number); }
  void let_go() { log_fd_ = open(log_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }
  Ran finish() { return process_->finish(); }

 private:
  std::string log_;
  std::optional<Process> process_;
  int log_fd_ = -1;
};

TEST(Background, ASignalBeforeItIsUpEndsTheInstanceToo) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Sandbox sandbox;
    HeldStart start(sandbox);
    start.signal(signal);
    start.let_go();
    const Ran ran = start.finish();
    EXPECT_EQ(ran.code, 128 + signal);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(sandbox.processes(), testing::IsEmpty());
  }
}

TEST(Background, ASignalThatItWasStartedToIgnoreEndsNothing) {
  Sandbox sandbox;
  HeldStart start(sandbox, {"nohup"});
  start.signal(SIGHUP);
  start.let_go();
  const Ran ran = start.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("ipc://"));
  sandbox.ok({"shutdown"});
}

TEST(Background, AnInstanceWhoseCallerWasKilledEnds) {
  Sandbox sandbox;
  HeldStart start(sandbox);
  start.signal(SIGKILL);
  start.let_go();
  EXPECT_EQ(start.finish().code, 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return sandbox.processes().empty(); }));
}

TEST(Background, OfSeveralThatWantOneDirectoryEachLoserIsToldOnce) {
  Sandbox sandbox;
  std::deque<Process> starts;
  for (int i = 0; i < 4; ++i)
    starts.push_back(sandbox.start({"start", "--bg", "--resources", "node=1/core=2", "--state-dir",
                                    sandbox.folder() + "/state"}));
  int winners = 0;
  for (auto& start : starts) {
    const Ran ran = start.finish();
    winners += ran.code == 0;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), ran.code == 0 ? 0 : 1) << ran.err;
  }
  EXPECT_EQ(winners, 1);
  sandbox.ok({"shutdown"});
}

}  // namespace
}  // namespace holon::system_test
