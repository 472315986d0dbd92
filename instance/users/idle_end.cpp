#include "instance/users/idle_end.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "instance/job/array.hpp"

namespace holon::instance {
namespace {

constexpr Duration kLongestLook = 5'000, kShortestLook = 20;
constexpr Duration kLooksInATimeout = 4;

}  // namespace

IdleEnd::IdleEnd(transport::Reactor& reactor, JobManager& jobs, Duration timeout,
                 std::function<void()> end)
    : reactor_(reactor), jobs_(jobs), timeout_(timeout), end_(std::move(end)) {
  look();
  looks_ = reactor_.every(std::clamp(timeout / kLooksInATimeout, kShortestLook, kLongestLook),
                          [this] { look(); });
}

// A job, or a task of an open array, that came and went between two looks counts, too.
void IdleEnd::look() {
  const auto arrays = idle_arrays();
  const Submitted now = submitted(arrays.value_or(std::vector<const JobArray*>()));
  const bool was_idle = idle_since_ && std::exchange(last_, now) == now;
  last_ = now;
  if (!arrays) return idle_since_.reset();
  if (!was_idle) idle_since_ = reactor_.now();
  if (distance(*idle_since_, reactor_.now()) < timeout_) return;
  close(*arrays);
  end_();
}

// The open arrays without tasks; nullopt: something else waits or runs.
std::optional<std::vector<const JobArray*>> IdleEnd::idle_arrays() const {
  std::vector<const JobArray*> arrays;
  for (const auto& [id, job] : jobs_.active()) {
    const JobArray* const array = std::as_const(jobs_).array_with(id);
    const bool is_idle = array != nullptr && array->open && array->waiting.empty() &&
                         array->blocked.empty() && array->active == 0;
    if (!is_idle) return std::nullopt;
    arrays.push_back(array);
  }
  return arrays;
}

IdleEnd::Submitted IdleEnd::submitted(const std::vector<const JobArray*>& arrays) const {
  Submitted all{jobs_.next_id(), 0};
  for (const JobArray* const array : arrays) all.tasks += array->count();
  return all;
}

void IdleEnd::close(const std::vector<const JobArray*>& arrays) {
  std::vector<JobId> ids;
  for (const JobArray* const array : arrays) ids.push_back(array->id);
  for (const JobId id : ids) {
    msg::ExtendRequest ask;
    ask.id = id.value();
    ask.close = true;
    const auto closed = jobs_.extend_array(ask, reactor_.now());
    spdlog::info(closed ? fmt::format("closed the open array {}: nothing was added to it for {} ms "
                                      "(instance.idle-timeout)",
                                      id.value(), timeout_)
                        : fmt::format("cannot close the open array {}: {}", id.value(),
                                      to_string(closed.error())));
  }
}

}  // namespace holon::instance
