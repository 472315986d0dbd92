// sketch.hpp - a short, safe answer to "could a window of this length and height be in this part of
// the plan?"
//
// For a run of points, and a cap c relative to the level before the first of them, a sketch bounds
// three things:
//   best: how long the level stays at or below c anywhere between the first and the last point
//   (never too short), head: how long it does so from the first point on (never too short), tail:
//   where the stretch begins that is still open at the last point (never too late).
// All are monotone in c, so a few steps say nearly everything. A search skips what the sketch rules
// out; the answer does not depend on it. Exact at a few levels when it is built from points, a
// bound ever after: spans that are added only shorten stretches, and where the level drops relative
// to the left edge `slack` is added to c.
#pragma once
#include <cstdint>
#include <span>

#include "base/time.hpp"
#include "resource/allocation.hpp"

namespace holon::resource {

struct Point {
  Time time = 0;
  Amount delta = 0;         // level from here on, minus level before
  std::uint32_t marks = 0;  // ends of spans that lie here, >= 1

  bool operator==(const Point&) const = default;
};

// How the level moves across a run of points, relative to the level before the first.
struct Summary {
  Amount sum = 0;    // after the last point
  Amount most = 0;   // the highest level from the first point on
  Amount least = 0;  // the lowest
};

// One change of the level, with the facts known about it.
struct Change {
  Time at = 0;
  Amount delta = 0;
  int marks = 0;  // span ends that come (or go) with it
  Time rise_from =
      kTimeMax;  // earlier time at which the same operation raised the level by -delta, if it did
};

class Sketch {
 public:
  static constexpr unsigned kMostParts = 32;  // points or parts of one node, at most

  struct Bounds {
    Time head = 0;      // the level exceeds the cap at this time at the latest
    Time tail = 0;      // the stretch open at the end begins here at the earliest
    Duration best = 0;  // no stretch inside is longer
  };
  // A child of the node to be sketched.
  struct Part {
    Time first = 0;
    Summary summary;
    const Sketch* sketch = nullptr;
  };

  static Sketch of(std::span<const Point> points);
  /// `last`: time of the last point.
  static Sketch of(std::span<const Part> parts, Time last);

  /// The step that stands for `cap`, for the three questions below.
  unsigned step(Amount cap) const;
  Duration best(unsigned step) const { return ticks(best_[step]); }
  Time head(unsigned step) const { return saturating_add(origin_, ticks(head_[step])); }
  Time tail(unsigned step) const { return origin_ + ticks(tail_[step]); }
  Bounds at(Amount cap) const;

  /// Notes a change among the points, the first of which is at `first`. False: the sketch does not
  /// cover it and must be built anew.
  bool cover(const Change& change, Time first);
  unsigned age() const { return age_; }

 private:
  static constexpr unsigned kSteps = 6;

  Sketch() = default;
  friend class PointTree;
  static Duration ticks(float length) {
    return length >= 9.2e18F ? kTimeMax : static_cast<Duration>(length);
  }
  Bounds bounds_of(std::span<const Part> parts, Amount cap) const;
  void settle_levels(Amount least, Amount most);
  void set(unsigned step, const Bounds& bounds);
  void set_unknown(unsigned step);

  Time origin_ = 0;  // first and last point when it was built
  Time reach_ = 0;
  Amount slack_ = 0;
  std::uint32_t age_ = 0;  // changes covered since
  // Step i stands for caps in [level[i], level[i + 1]), step 0 for those below level[0] too:
  // level[0] is below every level, so they are ruled out before. Times are relative to the origin,
  // as floats rounded to the safe side.
  Amount level_[kSteps] = {};
  float best_[kSteps] = {};
  float head_[kSteps] = {};
  float tail_[kSteps] = {};
};

inline unsigned Sketch::step(Amount cap) const {
  Amount height = 0;
  if (__builtin_add_overflow(cap, slack_, &height)) height = kTimeMax;
  unsigned step = 0;
  for (unsigned i = 1; i < kSteps; ++i) step += level_[i] <= height ? 1 : 0;
  return step;
}

inline Sketch::Bounds Sketch::at(Amount cap) const {
  const unsigned i = step(cap);
  return {head(i), tail(i), best(i)};
}

}  // namespace holon::resource
