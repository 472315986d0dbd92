// untold_starts.hpp - starts of jobs that have not been reported to the broker yet.
//
// A start is reported a few milliseconds later: many tasks are over by then, and one message and
// one commit of the broker cover both. If recent tasks took little longer than that, it is reported
// later still, so that such starts, too, go with their ends. A pure value.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.hpp"

namespace holon::launch {

class UntoldStarts {
 public:
  static constexpr Duration kSoonest = 4;  // ms after which a start is reported
  static constexpr Duration kLatest = 24;  // where tasks are short

  void add(std::uint64_t job, Time now) { untold_.push_back({job, now}); }

  // A job has ended, `lifetime` ms after its start. True: its start is unreported, and now for the
  // caller to report. O(unreported starts).
  bool end(std::uint64_t job, Duration lifetime) {
    usual_ += (std::min(lifetime, kLong) * kParts - usual_) / kWeight;
    return std::erase_if(untold_, [job](const Start& start) { return start.job == job; }) > 0;
  }

  // Takes the starts to be reported now, the oldest first.
  std::vector<std::uint64_t> take_due(Time now) {
    std::vector<std::uint64_t> due;
    for (; !untold_.empty() && untold_.front().when + delay() <= now; untold_.pop_front())
      due.push_back(untold_.front().job);
    return due;
  }

  // ms until a start is to be reported; nullopt: there is none.
  std::optional<Duration> next(Time now) const {
    if (untold_.empty()) return std::nullopt;
    return std::max<Duration>(1, untold_.front().when + delay() - now);
  }

 private:
  struct Start {
    std::uint64_t job;
    Time when;
  };
  static constexpr Duration kLong = 1'000;  // ms: longer lifetimes count as this
  static constexpr Duration kParts = 16;    // of a millisecond: the mean's unit
  static constexpr Duration kWeight = 8;    // a lifetime counts one part in this many

  // Twice the usual lifetime; if that is too late, the shortest delay.
  Duration delay() const {
    const Duration twice = 2 * usual_ / kParts;
    return twice <= kLatest ? std::max(twice, kSoonest) : kSoonest;
  }

  std::deque<Start> untold_;         // in the order in which they began
  Duration usual_ = kLong * kParts;  // moving mean of lifetimes
};

}  // namespace holon::launch
