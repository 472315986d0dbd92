// holon top at a terminal, whose part the test plays; and without one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "tests/instance/live.hpp"

namespace holon::web {
namespace {

using instance::testing::eventually;
using instance::testing::Live;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// `holon top` on a terminal of 24 lines and 80 columns.
class Watcher {
 public:
  explicit Watcher(const Live& live) {
    const winsize window{24, 80, 0, 0};
    pid_ = forkpty(&terminal_, nullptr, nullptr, &window);
    if (pid_ != 0) return;
    // A suite that runs in the background of a script ignores it.
    std::signal(SIGINT, SIG_DFL);
    setenv("HOLON_URI", live.uri().c_str(), 1);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C", 1);  // a byte is a column
    execl(HOLON_BINARY, "holon", "top", nullptr);
    _exit(127);
  }
  ~Watcher() {
    if (terminal_ >= 0) close(terminal_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Reads on until the screen satisfies `good`; the screen, without colours.
  std::string screen(const std::function<bool(const std::string&)>& good) {
    while (!good(last_frame()) && read_on()) continue;
    const std::string seen = last_frame();
    EXPECT_TRUE(good(seen)) << seen;
    return seen;
  }
  std::string screen_with(const std::string& text) {
    return screen([&](const std::string& seen) { return seen.find(text) != std::string::npos; });
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(unsigned short lines, unsigned short columns) const {
    const winsize window{lines, columns, 0, 0};
    EXPECT_EQ(ioctl(terminal_, TIOCSWINSZ, &window), 0);
  }
  // Waits until it is stopped. All that was written before.
  std::string stopped() {
    int status = 0;
    EXPECT_TRUE(eventually(
        [&] { return waitpid(pid_, &status, WUNTRACED | WNOHANG) == pid_ && WIFSTOPPED(status); }));
    pollfd ready{terminal_, POLLIN, 0};
    while (poll(&ready, 1, 0) > 0 && read_on()) continue;
    return seen_;
  }
  void go_on() {
    seen_after_ = seen_.size();
    kill(pid_, SIGCONT);
  }
  // All that was written, and how it ended.
  std::pair<std::string, int> finish() {
    while (read_on()) continue;
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return {seen_, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }

 private:
  bool read_on() {
    pollfd ready{terminal_, POLLIN, 0};
    if (poll(&ready, 1, 60'000) <= 0) return false;
    char bytes[4096];
    const ssize_t n = read(terminal_, bytes, sizeof bytes);
    if (n > 0) seen_.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }
  // The last screen that is whole: a further one has begun, or its last line is there.
  std::string last_frame() const {
    const std::string home = "\x1b[H";
    auto at = seen_.rfind(home);
    if (at == std::string::npos || at < seen_after_) return "";
    const auto is_whole = [&](std::size_t from) {
      return seen_.find("q: end", from) != std::string::npos;
    };
    if (!is_whole(at)) at = at == 0 ? std::string::npos : seen_.rfind(home, at - 1);
    if (at == std::string::npos || at < seen_after_ || !is_whole(at)) return "";
    return plain(seen_.substr(at, seen_.find("\x1b[K", seen_.find("q: end", at)) - at));
  }
  static std::string plain(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\r') continue;
      if (text[i] != '\x1b') {
        out += text[i];
        continue;
      }
      while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
    }
    return out;
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string seen_;
  std::size_t seen_after_ = 0;  // what was written before is no screen any more
};

void in_shell(const Live& live, const std::string& words) {
  const std::string command =
      "HOLON_URI=" + live.uri() + " " HOLON_BINARY " " + words + " > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

std::pair<std::size_t, std::size_t> lines_and_width(const std::string& screen) {
  std::istringstream in(screen);
  std::size_t lines = 0, width = 0;
  for (std::string line; std::getline(in, line); ++lines) width = std::max(width, line.size());
  return {lines, width};
}

// A child that stays, a job that runs, and one that waits.
class TopOfATree : public ::testing::Test {
 protected:
  TopOfATree() : live_({"--resources", "node=2/core=4"}) {
    const std::string gate = live_.dir() + "/gate";
    EXPECT_EQ(mkfifo(gate.c_str(), 0600), 0);
    in_shell(live_, "batch --name inner -n 2 --wrap '" HOLON_BINARY
                    " submit --name inside -t 2h sleep 3000 > /dev/null; read line < " +
                        gate + "'");
    in_shell(live_, "submit --name runner -n 3 -t 2h sleep 3000");
    in_shell(live_, "submit --name \"$(printf 'wait\\033[2Jer')\" -n 5 -t 10m true");
  }
  Live live_;
};

TEST_F(TopOfATree, ShowsIt) {
  Watcher watcher(live_);
  const std::string first = watcher.screen([](const std::string& seen) {
    return seen.find("inner") != std::string::npos && seen.find("runner") != std::string::npos &&
           seen.find("processors it needs") != std::string::npos;
  });
  EXPECT_THAT(first, HasSubstr("5 of 8 in use"));
  EXPECT_THAT(first, HasSubstr("INSTANCES  1"));
  EXPECT_THAT(first, HasSubstr("WAITING  1"));
  EXPECT_THAT(first, HasSubstr("plan  now"));
  const auto [lines, width] = lines_and_width(first);
  EXPECT_EQ(lines, 24u);
  EXPECT_LE(width, 80u);
  watcher.type("q");
  const auto [all, code] = watcher.finish();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(all, HasSubstr("\x1b[?1049l")) << "the terminal's own screen is back";
}

TEST_F(TopOfATree, GoesIntoAChildAndBack) {
  Watcher watcher(live_);
  watcher.screen_with("inner");
  watcher.type("\r");
  watcher.screen_with("inside");
  watcher.type("\x7f");
  watcher.screen_with("runner");
  watcher.type("\x03");  // Ctrl-C
  EXPECT_EQ(watcher.finish().second, 0);
}

TEST_F(TopOfATree, FollowsTheSizeOfTheWindow) {
  Watcher watcher(live_);
  watcher.screen_with("runner");
  watcher.resize(10, 50);
  const std::string small = watcher.screen([](const std::string& seen) {
    const auto [lines, width] = lines_and_width(seen);
    return lines == 10 && width <= 50;
  });
  EXPECT_THAT(small, HasSubstr("q: end"));
  watcher.type("q");
  EXPECT_EQ(watcher.finish().second, 0);
}

TEST_F(TopOfATree, SaysThatTheConnectionIsLostUntilItIsThereAgain) {
  Watcher watcher(live_);
  watcher.screen_with("runner");
  // A supervisor that is stopped starts no other broker.
  instance::testing::signal_process(live_.supervisor(), SIGSTOP);
  instance::testing::signal_process(live_.broker(), SIGKILL);
  EXPECT_THAT(watcher.screen_with("no connection"), HasSubstr("runner"));
  instance::testing::signal_process(live_.supervisor(), SIGCONT);
  watcher.screen([](const std::string& seen) {
    return seen.find("no connection") == std::string::npos &&
           seen.find("runner") != std::string::npos;
  });
}

TEST_F(TopOfATree, GivesTheTerminalBackWhileItIsStopped) {
  Watcher watcher(live_);
  watcher.screen_with("runner");
  watcher.type("\x1a");  // Ctrl-Z
  const std::string until_stop = watcher.stopped();
  EXPECT_THAT(until_stop, EndsWith("\x1b[?25h\x1b[?1049l"));
  watcher.go_on();
  watcher.screen([&](const std::string& seen) { return seen.find("runner") != std::string::npos; });
  watcher.type("q");
  const auto [all, code] = watcher.finish();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(all.substr(until_stop.size()), HasSubstr("\x1b[?1049h"));
}

TEST_F(TopOfATree, WithoutATerminalIsOneScreen) {
  const std::string file = live_.dir() + "/top.txt";
  in_shell(live_, "top > " + file + " #");
  const std::string said = instance::testing::read_file(file);
  EXPECT_THAT(said, HasSubstr("inner"));
  EXPECT_THAT(said, HasSubstr("runner"));
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << "no control characters, nor those of a name";
}

}  // namespace
}  // namespace holon::web
