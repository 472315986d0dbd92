#include "instance/process/watchdog.hpp"

#include <string>
#include <string_view>

#include "launch/tracking/process.hpp"

namespace holon::instance {
namespace {

constexpr int kLooks = 8;  // within its patience

// Is the process stopped, traced, waiting for a disk, or over, as /proc/PID/stat says?
bool is_kept(pid_t pid) {
  const auto stat = launch::stat_of(pid);
  return !stat || std::string_view("TtDZX").find(stat->state) != std::string_view::npos;
}

}  // namespace

void Watchdog::watch(pid_t broker, std::function<void()> hangs) {
  stop();
  if (patience_ <= 0) return;
  broker_ = broker;
  hangs_ = std::move(hangs);
  signs_ = 0;
  silent_ = 0;
  tick_ = reactor_.every(patience_ / kLooks, [this] { look(); });
}

void Watchdog::look() {
  const std::uint64_t signs = pulse_.signs();
  if (signs != std::exchange(signs_, signs) || is_kept(broker_)) {
    silent_ = 0;
  } else if (++silent_ >= kLooks) {
    stop();
    hangs_();
  }
}

}  // namespace holon::instance
