#include "instance/users/idle_end.hpp"

#include <algorithm>
#include <utility>

namespace holon::instance {
namespace {

constexpr Duration kLongestLook = 5'000, kShortestLook = 20;
constexpr Duration kLooksInATimeout = 4;

}  // namespace

IdleEnd::IdleEnd(transport::Reactor& reactor, const JobManager& jobs, Duration timeout,
                 std::function<void()> end)
    : reactor_(reactor), jobs_(jobs), timeout_(timeout), end_(std::move(end)) {
  look();
  looks_ = reactor_.every(std::clamp(timeout / kLooksInATimeout, kShortestLook, kLongestLook),
                          [this] { look(); });
}

// A job that came and went between two looks was something to do, too.
void IdleEnd::look() {
  const bool was_idle = idle_since_ && std::exchange(last_, jobs_.next_id()) == jobs_.next_id();
  last_ = jobs_.next_id();
  if (!jobs_.active().empty()) return idle_since_.reset();
  if (!was_idle) idle_since_ = reactor_.now();
  if (distance(*idle_since_, reactor_.now()) >= timeout_) end_();
}

}  // namespace holon::instance
