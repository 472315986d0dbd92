// time.hpp - time as the scheduling core knows it: whole ticks on the caller's clock.
//
// The live instance uses milliseconds since the Unix epoch, `holon query` and the simulator
// seconds; the core does not care. Nothing in base/, resource/ or qmanager/ reads a clock: `now` is
// always an argument.
#pragma once
#include <cstdint>
#include <limits>

namespace holon {

using Time = std::int64_t;      // a point, in ticks
using Duration = std::int64_t;  // a length, in ticks

// Later than every plan: "no end".
inline constexpr Time kTimeMax = std::numeric_limits<Time>::max();

// begin + length (>= 0), kept at kTimeMax where the sum would not fit.
constexpr Time saturating_add(Time begin, Duration length) {
  return begin > 0 && length > kTimeMax - begin ? kTimeMax : begin + length;
}

// The time from begin to end, 0 if there is none between, kTimeMax if it would not fit.
constexpr Duration distance(Time begin, Time end) {
  if (end <= begin) return 0;
  return begin < 0 && end > kTimeMax + begin ? kTimeMax : end - begin;
}

// [begin, end). Empty when end <= begin.
struct Interval {
  Time begin = 0;
  Time end = 0;

  bool empty() const { return end <= begin; }
  Duration length() const { return distance(begin, end); }
  bool contains(Time t) const { return begin <= t && t < end; }
  bool overlaps(const Interval& other) const { return begin < other.end && other.begin < end; }
  // Is it a part of `outer`, and not empty?
  bool within(const Interval& outer) const {
    return !empty() && outer.begin <= begin && end <= outer.end;
  }
  bool operator==(const Interval&) const = default;
};

}  // namespace holon
