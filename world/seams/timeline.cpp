#include "world/seams/timeline.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace holon::world {
namespace {

constexpr Micros kBooted = 1'000 * kSecond;                   // ago, when a world begins
constexpr Micros kWallAtBegin = 1'700'000'000'000'000 + 321;  // some day of 2023

// The C library's functions have no argument in which a world could be handed to them.
Timeline* current_timeline = nullptr;  // NOLINT: set by the constructor, for its life

}  // namespace

Timeline::Timeline(std::uint64_t seed) : entropy_(seed ^ 0xe7037ed1a0b428dbULL) {
  current_timeline = this;
}
Timeline::~Timeline() {
  current_timeline = nullptr;
}

void Timeline::at(Micros when, std::function<void()> action) {
  agenda_.emplace(std::pair(std::max(when, now_), ++last_), std::move(action));
}

bool Timeline::step() {
  if (agenda_.empty()) return false;
  auto next = agenda_.extract(agenda_.begin());
  now_ = next.key().first;
  next.mapped()();
  return true;
}

namespace {

bool virtual_time(clockid_t clock, timespec* t) {
  if (current_timeline == nullptr) return false;
  Micros us = 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    us = kWallAtBegin + current_timeline->now() + current_timeline->wall_offset();
  else if (clock == CLOCK_BOOTTIME)
    us = kBooted + current_timeline->now() + current_timeline->boot_offset();
  else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
           clock == CLOCK_MONOTONIC_RAW)
    us = kBooted + current_timeline->now();
  else
    return false;
  t->tv_sec = us / kSecond;
  t->tv_nsec = us % kSecond * 1'000;
  return true;
}

}  // namespace
}  // namespace holon::world

// These are found before the C library's, by this program and all libraries it has loaded.
extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  if (holon::world::virtual_time(clock, t)) return 0;
  return static_cast<int>(syscall(SYS_clock_gettime, clock, t));
}

// Replaces libstdc++'s as well: incarnations, tokens and marks come from here.
std::random_device::result_type std::random_device::_M_getval() {
  if (holon::world::current_timeline != nullptr)
    return static_cast<result_type>(holon::world::current_timeline->entropy().next());
  result_type drawn = 0;
  if (getentropy(&drawn, sizeof drawn) != 0) return 0;
  return drawn;
}
