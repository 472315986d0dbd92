// crash_guard.hpp - how a process ended, and how often it crashed lately.
#pragma once
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "base/time.hpp"

namespace holon::instance {

inline constexpr std::size_t kCrashes = 5;        // this many ...
inline constexpr Duration kCrashWindow = 60'000;  // ... within this time are a loop

// `status` is wait(2)'s. A process ended by a signal from outside has not crashed: its end says
// nothing about what the process was doing.
inline bool is_crash(int status) {
  if (!WIFSIGNALED(status)) return false;
  const int signal = WTERMSIG(status);
  return signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
         signal == SIGFPE;
}

// How the process ended, for people: "was killed by signal 9".
inline std::string end_text(int status) {
  return WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                             : "ended with code " + std::to_string(WEXITSTATUS(status));
}

class CrashGuard {
 public:
  // How long to wait before the next try; nullopt: give up. `now`: ms on a clock that does not go
  // back.
  std::optional<Duration> crashed(Time now) {
    while (!times_.empty() && times_.front() < now - kCrashWindow) times_.pop_front();
    times_.push_back(now);
    if (times_.size() > kCrashes) return std::nullopt;
    return times_.size() == 1 ? 0 : Duration{100} << times_.size();
  }

 private:
  std::deque<Time> times_;
};

}  // namespace holon::instance
