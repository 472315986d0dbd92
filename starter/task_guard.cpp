#include "starter/task_guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <string>

#include "base/descriptors/passing.hpp"
#include "starter/answer.hpp"
#include "starter/fewer_rights.hpp"
#include "starter/own_children.hpp"

namespace holon::starter {
namespace {

constexpr int kLooksAtOnce = 100;   // for processes to end, without a pause
constexpr long kPause = 1'000'000;  // ns between later looks

// Has the asker gone?
bool is_closed(int line) {
  pollfd look{line, 0, 0};
  return poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

int signals_of_children() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

class TaskGuard {
 public:
  TaskGuard(int line, pid_t task, int report, int children)
      : line_(line), task_(task), report_(report), children_(children) {}

  [[noreturn]] void run() {
    while (true) {
      pollfd looks[] = {{line_, POLLIN, 0}, {children_, POLLIN, 0}, {report_, POLLIN, 0}};
      if (poll(looks, report_ >= 0 ? 3 : 2, -1) < 0 && errno != EINTR) end_all();
      if (report_ >= 0 && looks[2].revents != 0) read_report();
      if (looks[1].revents != 0) reap();
      if (looks[0].revents != 0) obey();
    }
  }

 private:
  // An end of file without a word means that it is the user's program now.
  void read_report() {
    Stuck stuck;
    Told told;
    told.what = What::running;
    told.pid = task_;
    if (read(report_, &stuck, sizeof stuck) == static_cast<ssize_t>(sizeof stuck)) {
      told.what = What::failed;
      told.step = stuck.step;
      told.error = stuck.error;
      told.status = static_cast<std::int32_t>(stuck.limit);
    }
    close(report_);
    report_ = -1;
    tell(line_, told);
  }

  void obey() {
    Order order;
    const ssize_t n = recv(line_, &order, sizeof order, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) end_all();
    if (n != static_cast<ssize_t>(sizeof order) || order.magic != kMagic) return;
    if (order.what == Do::end) end_all();
    // The number is the task's for as long as it has not been reaped.
    if (order.what == Do::signal && task_ > 1 && order.signal > 0 && order.signal <= SIGRTMAX)
      kill(-task_, order.signal);
  }

  // Reaps all that have ended. The task's group goes with it, while its number cannot be another's.
  void reap() {
    signalfd_siginfo seen;
    while (read(children_, &seen, sizeof seen) > 0) continue;
    while (true) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno == EINTR) continue;
        if (task_ == 0) _exit(0);  // ECHILD: nothing is left
        return;
      }
      if (info.si_pid == 0) break;
      if (info.si_pid == task_) kill(-task_, SIGKILL);
      int status = 0;
      rusage usage{};
      if (wait4(info.si_pid, &status, 0, &usage) == info.si_pid && info.si_pid == task_)
        ended(status, usage);
    }
  }

  void ended(int status, const rusage& usage) {
    if (report_ >= 0) read_report();  // it was said before that
    Told told;
    told.what = What::ended;
    told.pid = task_;
    told.status = status;
    told.user_us = std::int64_t{usage.ru_utime.tv_sec} * 1'000'000 + usage.ru_utime.tv_usec;
    told.system_us = std::int64_t{usage.ru_stime.tv_sec} * 1'000'000 + usage.ru_stime.tv_usec;
    told.max_rss_kb = usage.ru_maxrss;
    task_ = 0;
    siginfo_t info{};
    const int more = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    told.nothing_left = more != 0 && errno == ECHILD ? 1 : 0;
    tell(line_, told);
    if (told.nothing_left != 0) _exit(0);
  }

  // Ends all below, whose orphans come up to this process, until there are none.
  [[noreturn]] void end_all() {
    for (int looks = 0;; ++looks) {
      for (const pid_t child : own_children()) kill(child, SIGKILL);
      reap();
      if (own_children().empty() && waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) _exit(0);
      const timespec pause{0, kPause};
      if (looks > kLooksAtOnce) nanosleep(&pause, nullptr);
    }
  }

  int line_;
  pid_t task_;  // 0: it has ended
  int report_;  // -1: it has said all
  int children_;
};

// Waits until nobody can write to the pipe any more.
void await_end(int pipe) {
  char byte = 0;
  while (read(pipe, &byte, 1) < 0 && errno == EINTR) continue;
}

[[noreturn]] void start_task(const Handed& handed, const Settings& settings, const Account& account,
                             const Request& request) {
  int report[2], go[2];
  const int children = signals_of_children();
  if (children < 0 || pipe2(report, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0)
    refuse(handed.line, Step::start, errno);
  const pid_t keeper = getpid();
  const pid_t task = fork();
  if (task < 0) refuse(handed.line, Step::start, errno);
  if (task == 0) {
    close(go[1]);
    await_end(go[0]);
    const Stuck stuck = run_as(account, settings, request, handed.streams, report[1], keeper);
    // The report is where it was if the descriptors were not moved yet.
    const int to = stuck.step == Step::start ? report[1] : 5;
    if (write(to, &stuck, sizeof stuck) < 0 && to != report[1] &&
        write(report[1], &stuck, sizeof stuck) < 0)
      _exit(126);
    _exit(127);
  }
  close(report[1]);
  close(go[0]);
  for (const int fd : {handed.body, handed.streams.in, handed.streams.out, handed.streams.err,
                       handed.streams.secrets, handed.streams.wire_up})
    if (fd >= 0) close(fd);
  Told told;
  told.what = What::started;
  told.pid = task;
  tell(handed.line, told);
  TaskGuard keep(handed.line, task, report[0], children);
  if (keep_signalling() != 0 || keep_few_calls() != 0) {
    kill(-task, SIGKILL);
    kill(task, SIGKILL);
    _exit(1);
  }
  close(go[1]);  // only now the task goes on: it never sees a keeper with more rights
  keep.run();
}

}  // namespace

void serve_run(const Handed& handed, const Settings& settings) {
  prctl(PR_SET_NAME, "holon-keeper");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) refuse(handed.line, Step::start, errno);
  if (is_closed(handed.line)) _exit(0);
  const auto request = read_request(handed.body);
  if (!request) refuse(handed.line, Step::request, EINVAL, request.error().what);
  if (const auto good = check_run(*request); !good)
    refuse(handed.line, Step::request, EINVAL, good.error().what);
  const auto account = find_account(request->user, settings);
  if (!account) refuse(handed.line, Step::account, EPERM, account.error().what);
  start_task(handed, settings, *account, *request);
}

void serve_open(const Handed& handed, const Settings& settings) {
  prctl(PR_SET_NAME, "holon-opener");
  const auto request = read_request(handed.body);
  if (!request) refuse(handed.line, Step::request, EINVAL, request.error().what);
  if (const auto good = check_open(*request); !good)
    refuse(handed.line, Step::request, EINVAL, good.error().what);
  const auto account = find_account(request->user, settings);
  if (!account) refuse(handed.line, Step::account, EPERM, account.error().what);
  if (const int error = become_user(*account, settings, request->file_mask))
    refuse(handed.line, Step::become, error);
  constexpr mode_t kMode = 0666;
  constexpr unsigned kLongest = 60;  // s that a file which does not open keeps this process
  alarm(kLongest);
  // Does not wait for a named pipe, nor take a terminal.
  const int flags = static_cast<int>(request->flags) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int file = open(request->path.c_str(), flags, kMode);
  if (file < 0) refuse(handed.line, Step::file, errno);
  Told told;
  told.what = What::opened;
  tell(handed.line, told, std::span(&file, 1));
  _exit(0);
}

}  // namespace holon::starter
