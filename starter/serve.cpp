#include "starter/serve.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "base/descriptors/passing.hpp"
#include "starter/fewer_rights.hpp"
#include "starter/own_children.hpp"
#include "starter/sweep.hpp"
#include "starter/task_guard.hpp"
#include "starter/wire.hpp"

namespace holon::starter {
namespace {

constexpr int kAboveStreams = 10;           // above the standard streams and what is put there
constexpr std::size_t kMostKept = 200'000;  // requests that are being served and tasks
constexpr int kEndPatience = 50;  // ms between looks at what is left, when nobody asks any more

struct Message {
  bool is_closed = false;
  bool is_good = false;  // has the form of wire.hpp
  Ask ask;
  std::vector<int> descriptors;
};

std::size_t expected(const Ask& ask) {
  if (ask.kind == Kind::count) return 0;
  if (ask.kind == Kind::open || ask.kind == Kind::sweep) return 2;
  return 5 + ((ask.extras & kSecrets) != 0 ? 1 : 0) + ((ask.extras & kWireUp) != 0 ? 1 : 0);
}

bool is_known(const Ask& ask) {
  if (ask.magic != kMagic || ask.reserved != 0) return false;
  if (ask.kind == Kind::run) return (ask.extras & ~(kSecrets | kWireUp)) == 0;
  return ask.kind >= Kind::open && ask.kind <= Kind::sweep && ask.extras == 0;
}

Message take_message(int line) {
  Message taken;
  Passed passed = receive_with_descriptors(line, std::as_writable_bytes(std::span(&taken.ask, 1)),
                                           kMostDescriptors, MSG_DONTWAIT);
  if (passed.size < 0) {
    taken.is_closed = passed.error != EAGAIN && passed.error != EMFILE && passed.error != ENFILE;
    return taken;
  }
  taken.descriptors = std::move(passed.descriptors);
  taken.is_closed = passed.size == 0 && passed.has_all_descriptors && taken.descriptors.empty();
  taken.is_good = passed.size == static_cast<ssize_t>(sizeof taken.ask) && passed.has_all_bytes &&
                  passed.has_all_descriptors && is_known(taken.ask) &&
                  taken.descriptors.size() == expected(taken.ask);
  return taken;
}

Handed handed_by(const Message& message) {
  Handed handed;
  auto next = message.descriptors.begin();
  const auto take = [&next] { return *next++; };
  handed.line = take();
  handed.body = take();
  if (message.ask.kind != Kind::run) return handed;
  handed.streams.in = take();
  handed.streams.out = take();
  handed.streams.err = take();
  if ((message.ask.extras & kSecrets) != 0) handed.streams.secrets = take();
  if ((message.ask.extras & kWireUp) != 0) handed.streams.wire_up = take();
  return handed;
}

class Starter {
 public:
  Starter(std::vector<int> lines, const Settings& settings, int children)
      : all_lines_(lines), lines_(std::move(lines)), settings_(settings), children_(children) {}

  [[noreturn]] void run() {
    while (true) {
      std::vector<pollfd> looks = {{children_, POLLIN, 0}};
      for (const int line : lines_) looks.push_back({line, POLLIN, 0});
      poll(looks.data(), looks.size(), lines_.empty() ? kEndPatience : -1);
      reap();
      // The order counts: a count includes all that was asked before it.
      for (std::size_t i = 1; i < looks.size(); ++i)
        if (looks[i].revents != 0) take_all(looks[i].fd);
      if (lines_.empty() && task_guards_.empty()) _exit(0);
    }
  }

 private:
  void take_all(int line) {
    while (true) {
      const Message message = take_message(line);
      if (message.is_closed) {
        // The descriptor stays: the other side sees by its end that this process has ended.
        std::erase(lines_, line);
        if (lines_.empty()) prctl(PR_SET_NAME, kNameOfEndingStarter);
        return;
      }
      if (!message.is_good && message.descriptors.empty()) return;
      if (!message.is_good)
        std::fputs("holon starter: dropped a message that is of no known form\n", stderr);
      else if (message.ask.kind == Kind::count)
        answer_count(line);
      else
        start(message);
      close_all(message.descriptors);
      if (message.is_good && message.ask.kind == Kind::count) return;
    }
  }

  void answer_count(int line) {
    reap();
    const Count count{static_cast<std::uint32_t>(task_guards_.size())};
    send(line, &count, sizeof count, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // Starts a keeper. If there are too many, or fork() fails, the asker sees its connection closed.
  void start(const Message& message) {
    if (task_guards_.size() >= kMostKept) return;
    const pid_t child = fork();
    if (child > 0) task_guards_.push_back(child);
    if (child != 0) return;
    for (const int line : all_lines_) close(line);
    close(children_);
    const Handed handed = handed_by(message);
    switch (message.ask.kind) {
      case Kind::run:
        serve_run(handed, settings_);
      case Kind::open:
        serve_open(handed, settings_);
      case Kind::sweep:
        serve_sweep(handed, settings_);
      case Kind::count:
        _exit(0);
    }
  }

  // Reaps keepers. A killed one leaves its task's processes to this one, which ends them.
  void reap() {
    signalfd_siginfo seen;
    while (read(children_, &seen, sizeof seen) > 0) continue;
    bool was_killed = false;
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const bool was_task_guard = std::erase(task_guards_, pid) > 0;
      was_killed |= !was_task_guard || WIFSIGNALED(status);
    }
    if (!was_killed) return;
    for (const pid_t child : own_children())
      if (std::find(task_guards_.begin(), task_guards_.end(), child) == task_guards_.end())
        kill(child, SIGKILL);
  }

  const std::vector<int> all_lines_;
  std::vector<int> lines_;  // open to requests
  const Settings& settings_;
  int children_;
  std::vector<pid_t> task_guards_;
};

// Moves the lines out of the way of what tasks find open, and closes everything else.
std::vector<int> keep_only(const std::vector<int>& lines) {
  std::vector<int> kept;
  for (const int line : lines) kept.push_back(fcntl(line, F_DUPFD_CLOEXEC, kAboveStreams));
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (fd >= 0 && number > first) close_range(first, number - 1, 0);
    if (fd >= 0) first = number + 1;
  }
  close_range(first, ~0U, 0);
  return kept;
}

[[noreturn]] void give_up(const char* what, int error) {
  std::fprintf(stderr, "holon starter: %s: %s\n", what, std::strerror(error));
  _exit(1);
}

}  // namespace

void serve(const std::vector<int>& lines, const Settings& settings) {
  if (geteuid() != 0) give_up("it has to be root", EPERM);
  clearenv();
  prctl(PR_SET_NAME, kNameOfStarter);
  setsid();
  umask(077);
  if (chdir("/") != 0) give_up("/", errno);
  for (const int signal : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2})
    std::signal(signal, SIG_IGN);
  const std::vector<int> kept = keep_only(lines);
  if (std::count(kept.begin(), kept.end(), -1) > 0) give_up("its connections", EMFILE);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  const int children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (children < 0) give_up("signalfd", errno);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) give_up("prctl", errno);
  if (const int error = keep_starting()) give_up("capabilities", error);
  Starter starter(kept, settings, children);
  starter.run();
}

}  // namespace holon::starter
