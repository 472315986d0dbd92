// holon run --pty: a person at a terminal, whose part the test plays.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

constexpr int kPtyPatienceMs = 60'000;
const std::vector<std::string> kPtyCores = {"--resources", "node=1/core=2"};

// `holon` with these words on a terminal of 24 lines and 80 columns.
class Person {
 public:
  Person(Sandbox& sandbox, std::vector<std::string> words) {
    std::vector<std::string> variables;
    for (const auto& [name, value] : sandbox.environment()) variables.push_back(name + "=" + value);
    words.insert(words.begin(), HOLON_BINARY);
    const auto pointers = [](std::vector<std::string>& from) {
      std::vector<char*> to;
      for (auto& word : from) to.push_back(word.data());
      to.push_back(nullptr);
      return to;
    };
    const auto argv = pointers(words), env = pointers(variables);
    const std::string folder = sandbox.folder();
    const winsize window{24, 80, 0, 0};
    pid_ = forkpty(&terminal_, nullptr, nullptr, &window);
    if (pid_ == 0) {
      // A suite that runs in the background of a script ignores some of them.
      for (const int number : {SIGINT, SIGQUIT, SIGHUP}) std::signal(number, SIG_DFL);
      if (chdir(folder.c_str()) != 0) _exit(126);
      execve(argv[0], argv.data(), env.data());
      _exit(127);
    }
    EXPECT_GT(pid_, 0);
    fcntl(terminal_, F_SETFD, FD_CLOEXEC);
  }
  ~Person() {
    close_terminal();
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Person(const Person&) = delete;
  Person& operator=(const Person&) = delete;

  // Reads until `text` is on the screen; everything since the last call, without carriage returns.
  std::string see(const std::string& text) {
    while (seen_.find(text) == std::string::npos && read_some()) continue;
    const auto end = std::min(seen_.find(text), seen_.size() - std::min(text.size(), seen_.size()));
    std::string shown = seen_.substr(0, end + text.size());
    EXPECT_THAT(seen_, HasSubstr(text));
    seen_.erase(0, shown.size());
    return shown;
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // The same for more than there is room for; reads meanwhile, as a terminal does.
  void type_much(std::string keys) {
    fcntl(terminal_, F_SETFL, O_NONBLOCK);
    while (!keys.empty()) {
      pollfd ready{terminal_, POLLIN | POLLOUT, 0};
      ASSERT_EQ(poll(&ready, 1, kPtyPatienceMs), 1);
      const ssize_t n = write(terminal_, keys.data(), keys.size());
      if (n > 0) keys.erase(0, static_cast<std::size_t>(n));
      const bool lives = (ready.revents & POLLIN) == 0 || read_some();
      ASSERT_TRUE(lives);
    }
  }
  void resize(unsigned short rows, unsigned short columns) const {
    const winsize window{rows, columns, 0, 0};
    EXPECT_EQ(ioctl(terminal_, TIOCSWINSZ, &window), 0);
  }
  bool gets_lines() const {  // the terminal's usual way: not the task's
    termios modes{};
    EXPECT_EQ(tcgetattr(terminal_, &modes), 0);
    return (modes.c_lflag & ICANON) != 0 && (modes.c_lflag & ECHO) != 0;
  }
  void signal(int number) const { kill(pid_, number); }
  void close_terminal() {
    if (terminal_ >= 0) close(std::exchange(terminal_, -1));
  }
  // What was shown until its end, and the exit code.
  Ran finish() {
    while (terminal_ >= 0 && read_some()) continue;
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    pollfd ended{process, POLLIN, 0};
    if (poll(&ended, 1, kPtyPatienceMs) != 1) {
      ADD_FAILURE() << "it goes on, and has shown: " << seen_;
      kill(pid_, SIGKILL);
    }
    close(process);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), std::move(seen_), ""};
  }

 private:
  bool read_some() {
    pollfd ready{terminal_, POLLIN, 0};
    if (poll(&ready, 1, kPtyPatienceMs) <= 0) return false;
    char buffer[4096];
    const ssize_t n = read(terminal_, buffer, sizeof buffer);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    std::remove_copy(buffer, buffer + n, std::back_inserter(seen_), '\r');
    return true;
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string seen_;
};

TEST(Pty, WhatIsTypedReachesTheTaskAndItsExitCodeComesBack) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  Person person(sandbox, {"run", "--pty", "sh", "-c",
                          "test -t 0 && test -t 1 && test -t 2 && stty size; echo name?; read x; "
                          "echo \"hello $x, job $HOLON_JOB_ID\"; exit 7"});
  EXPECT_EQ(person.see("name?\n"), "24 80\nname?\n");
  EXPECT_FALSE(person.gets_lines());
  person.type("anna\r");
  const Ran ran = person.finish();
  EXPECT_EQ(ran.out, "anna\nhello anna, job 1\n") << "echoed once, by the task's terminal";
  EXPECT_EQ(ran.code, 7);
  const auto job = sandbox.json({"jobs", "-a"})["jobs"][0];
  EXPECT_EQ(job["name"], "sh");
  EXPECT_EQ(job["exit_code"], 7);
}

TEST(Pty, CtrlCAndTheWindowsSizeAreTheTasks) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  Person person(sandbox, {"run", "--pty", "sh", "-c",
                          "trap 'stty size' WINCH; trap 'echo bye; exit 3' INT; echo up; "
                          "while :; do sleep 0.02; done"});
  person.see("up\n");
  person.resize(11, 22);
  person.see("11 22\n");
  person.type("\x03");
  EXPECT_THAT(person.see("bye\n"), HasSubstr("^C"));
  EXPECT_EQ(person.finish().code, 3);
}

TEST(Pty, UntilTheJobStartsCtrlCIsOursAndAfterItsEndTheTerminalIsAsItWas) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  sandbox.ok({"submit", "-c", "2", "sleep", "600"});
  Person waiting(sandbox, {"run", "-v", "--pty", "cat"});
  waiting.see("job 2\n");
  EXPECT_TRUE(waiting.gets_lines());
  waiting.type("\x03");
  EXPECT_EQ(waiting.finish().code, 130);

  sandbox.ok({"cancel", "1"});
  sandbox.run({"job", "wait", "1"});
  // A shell around it, so that the terminal outlives `holon run`.
  Person person(sandbox, {"start", "--resources", "node=1/core=1", "--", "sh", "-c",
                          HOLON_BINARY " run --pty -t 1s cat; echo code $?; read x"});
  person.see("its time limit was reached\n");
  person.see("code 124\n");
  EXPECT_TRUE(person.gets_lines());
  person.type("\r");
  EXPECT_EQ(person.finish().code, 0);
}

TEST(Pty, NothingIsLostOfMuchOutput) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  Person person(sandbox, {"run", "--pty", "seq", "100000"});
  const Ran ran = person.finish();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out.size(), 588'895u);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 100'000);
}

// A program that reads nothing and one that writes much must not stop each other.
TEST(Pty, MoreThanFitsIsTypedAhead) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  Person person(sandbox, {"run", "--pty", "sh", "-c",
                          "stty raw -echo; echo up; seq 50000; head -c 300000 | wc -c"});
  person.see("up");
  person.type_much(std::string(300'000, 'k'));
  person.see("300000");
  EXPECT_EQ(person.finish().code, 0);
}

TEST(Pty, AClosedTerminalEndsTheJobAndWhatRunsInIt) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  Person person(sandbox, {"run", "--pty", "sh", "-c", "echo up; sleep 4242"});
  person.see("up\n");
  person.close_terminal();
  person.finish();
  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 1);
  EXPECT_TRUE(sandbox.processes({"sleep 4242"}).empty());
}

TEST(Pty, ALostPersonIsAHangUpForTheTask) {
  Sandbox sandbox;
  Instance instance(sandbox, kPtyCores);
  Person person(sandbox, {"run", "--pty", "sh", "-c",
                          "trap 'echo hup > mark; exit' HUP; echo up; "
                          "while :; do sleep 0.02; done"});
  person.see("up\n");
  person.signal(SIGKILL);
  sandbox.run({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("mark"), "hup\n");
}

TEST(Pty, ItIsForOneTaskAtATerminal) {
  Sandbox sandbox;
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "--pty"});
    more.emplace_back("true");
    const Ran ran = sandbox.run(more);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(refused({"-n", "2"}), HasSubstr("--pty with -n: a terminal is for one task"));
  EXPECT_THAT(refused({"-n", "1-2"}), HasSubstr("--pty with -n"));
  EXPECT_THAT(refused({"--output", "x"}), HasSubstr("--pty with --output"));
  EXPECT_THAT(refused({}), HasSubstr("--pty: standard input is no terminal"));
}

}  // namespace
}  // namespace holon::system_test
