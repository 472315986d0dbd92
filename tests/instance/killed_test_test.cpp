// What a test has started does not outlive it, whatever ends the test.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using testing::Live;

// As a test that is killed in the middle: says what it has, and never comes to its end.
[[noreturn]] void hold_an_instance(int told) {
  const Live live({"--resources", "node=1/core=1"});
  live.when_running(live.job({"/bin/sleep", "1000"}));
  std::ostringstream line;
  line << live.dir() << " " << live.supervisor() << " " << live.broker() << "\n";
  if (write(told, line.str().data(), line.str().size()) < 0) _exit(1);
  while (true) pause();
}

TEST(KilledTest, TakesItsInstanceWithIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t test = fork();
  if (test == 0) hold_an_instance(ends[1]);
  close(ends[1]);
  char text[4096] = "";
  ASSERT_GT(read(ends[0], text, sizeof text - 1), 0);
  close(ends[0]);
  std::string dir;
  pid_t supervisor = 0, broker = 0;
  std::istringstream(text) >> dir >> supervisor >> broker;
  ASSERT_TRUE(alive(supervisor) && alive(broker));
  kill(test, SIGKILL);
  waitpid(test, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return !alive(supervisor) && !alive(broker); }));
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(dir); }));
}

}  // namespace
}  // namespace holon::instance
