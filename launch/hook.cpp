#include "launch/hook.hpp"

#include <csignal>
#include <utility>

#include "launch/exit_code.hpp"

namespace holon::launch {

Hook::Hook(transport::Reactor& reactor, Processes& processes, JobProcesses& job, What what,
           std::function<void(const Outcome&)> done)
    : reactor_(reactor),
      processes_(processes),
      job_(job),
      what_(std::move(what)),
      done_(std::move(done)) {
  begin();
}

Hook::~Hook() {
  if (pid_ == 0) return;
  processes_.signal_group(pid_, SIGKILL);  // reaped with the strangers
  job_.ended(pid_);
}

void Hook::begin() {
  const std::vector<std::string> shell = {"/bin/sh", "-c", what_.line};
  SpawnRequest request{what_.argv.empty() ? shell : what_.argv, what_.env, what_.cwd};
  request.in = what_.in;
  request.wire_up = what_.line_to_us;
  request.cgroup = job_.cgroup();
  request.user = what_.user;
  auto pid = processes_.spawn(request);
  if (!pid && pid.error().no_cgroup != 0) {
    job_.cannot_start_there(pid.error().no_cgroup);
    request.cgroup = -1;
    pid = processes_.spawn(request);
  }
  if (!pid) return tell(pid.error().what, false, pid.error().denied);
  pid_ = *pid;
  process_ = {pid_, processes_.start_of(pid_)};
  job_.started(pid_, nullptr);
  auto exit = processes_.on_end(
      pid_, [this](const transport::ChildExit& how) { ended(how.status); },
      [this, group = pid_] { processes_.signal_group(group, SIGKILL); });
  if (!exit) return tell("cannot be watched: " + exit.error().what);
  exit_ = std::move(*exit);
  if (what_.timeout > 0)
    timer_ = reactor_.after(what_.timeout, [this] {
      was_killed_ = true;
      processes_.signal_group(pid_, SIGKILL);
    });
}

void Hook::ended(int status) {
  timer_.cancel();
  job_.ended(std::exchange(pid_, 0));
  if (was_killed_) return tell("took longer than " + what_.bound);
  const int code = exit_code_of(status);
  tell(code == 0 ? "" : "ended with exit code " + std::to_string(code), true);
}

void Hook::tell(const std::string& trouble, bool has_exited, bool denied) {
  const Outcome outcome{trouble.empty() ? "" : "the " + what_.name + " " + trouble, has_exited,
                        denied};
  // `done` may destroy this object: nothing of it is used then.
  telling_ = reactor_.after(0, [done = done_, outcome] {
    const auto then = done;
    const Outcome what = outcome;
    then(what);
  });
}

}  // namespace holon::launch
