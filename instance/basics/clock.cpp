#include "instance/basics/clock.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

namespace holon::instance {
namespace {

// Smaller steps are the difference between two readings, or corrections in passing.
constexpr Duration kStep = 500;
// The year 5138: no time beyond it was ever anybody's.
constexpr Time kLatest = 100'000'000'000'000;

Time clock_ms(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return Time{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

struct Kept {
  Time instance = 0, since_boot = 0;
  Duration offset = 0;
  std::string boot;
};

std::optional<Kept> read_kept(std::string_view text) {
  std::istringstream in{std::string(text)};
  Kept kept;
  if (!(in >> kept.instance >> kept.since_boot >> kept.offset)) return std::nullopt;
  in >> kept.boot;
  const bool makes_sense = kept.instance > 0 && kept.instance < kLatest && kept.since_boot >= 0 &&
                           std::abs(kept.offset) < kLatest;
  return makes_sense ? std::optional(std::move(kept)) : std::nullopt;
}

Time moved(Time t, Duration by) {
  if (t <= 0 || t == kTimeMax) return t;
  return by > 0 ? saturating_add(t, by) : t + by;
}

}  // namespace

Time wall_clock_ms() {
  return clock_ms(CLOCK_REALTIME);
}

std::int64_t monotonic_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

ClockReading read_clocks() {
  return {clock_ms(CLOCK_REALTIME), clock_ms(CLOCK_BOOTTIME)};
}

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

InstanceClock::InstanceClock(std::string boot, Source source)
    : boot_(std::move(boot)), source_(std::move(source)) {
  const ClockReading reading = source_();
  begin_at(reading.wall, reading, 0);
}

void InstanceClock::begin_at(Time now, const ClockReading& reading, Duration offset) {
  now_ = now;
  ahead_ = now - reading.since_boot;
  offset_ = offset;
  look_at_wall(reading.wall);
}

void InstanceClock::go_on(std::string_view kept, Time at_least) {
  const ClockReading reading = source_();
  if (at_least >= kLatest) at_least = 0;
  const auto before = read_kept(kept);
  if (!before) return begin_at(std::max(reading.wall, at_least), reading, 0);
  const bool same_boot = !boot_.empty() && before->boot == boot_;
  if (same_boot && reading.since_boot >= before->since_boot) {
    const Time now = before->instance + (reading.since_boot - before->since_boot);
    return begin_at(std::max(now, at_least), reading, before->offset);
  }
  begin_at(std::max({reading.wall, before->instance, at_least}), reading, 0);
}

Time InstanceClock::kept_at(std::string_view kept) {
  const auto before = read_kept(kept);
  return before ? before->instance : 0;
}

std::string InstanceClock::text_to_keep() const {
  return fmt::format("{} {} {} {}", now_, now_ - ahead_, offset_, boot_);
}

Time InstanceClock::now() {
  const ClockReading reading = source_();
  now_ = std::max(now_, reading.since_boot + ahead_);
  look_at_wall(reading.wall);
  return now_;
}

void InstanceClock::look_at_wall(Time wall) {
  const Duration offset = wall - now_;
  if (std::abs(offset - offset_) >= kStep) offset_ = offset;
}

Time InstanceClock::wall(Time instance) const {
  return moved(instance, offset_);
}

Time InstanceClock::instance(Time wall) const {
  return moved(wall, -offset_);
}

}  // namespace holon::instance
