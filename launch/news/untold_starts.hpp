// untold_starts.hpp - starts of jobs that the broker has not heard of yet.
//
// A start is told a few milliseconds after it: many tasks are over by then, and one message and one
// commit of the broker say both. Where tasks that ended lately took not much longer than that, it
// is told later, so that theirs are told with their ends, too. A pure value.
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
  static constexpr Duration kSoonest = 4;  // ms after which a start is told
  static constexpr Duration kLatest = 24;  // where tasks are short

  void add(std::uint64_t job, Time now) { untold_.push_back({job, now}); }

  // Of a job that ends after so many ms. True: its start is untold, and is from now on the caller's
  // to tell. O(starts that are untold).
  bool end(std::uint64_t job, Duration lifetime) {
    usual_ += (std::min(lifetime, kLong) * kParts - usual_) / kWeight;
    return std::erase_if(untold_, [job](const Start& start) { return start.job == job; }) > 0;
  }

  // Those that are to be told now, the oldest first.
  std::vector<std::uint64_t> take_due(Time now) {
    std::vector<std::uint64_t> due;
    for (; !untold_.empty() && untold_.front().when + delay() <= now; untold_.pop_front())
      due.push_back(untold_.front().job);
    return due;
  }

  // ms until there is one to be told; nullopt: none is untold.
  std::optional<Duration> next(Time now) const {
    if (untold_.empty()) return std::nullopt;
    return std::max<Duration>(1, untold_.front().when + delay() - now);
  }

 private:
  struct Start {
    std::uint64_t job;
    Time when;
  };
  static constexpr Duration kLong = 1'000;  // ms: a lifetime that counts as no more than this
  static constexpr Duration kParts = 16;    // of a millisecond, in which the mean is kept
  static constexpr Duration kWeight = 8;    // one of so many is what a lifetime counts in the mean

  // Twice the usual lifetime; where that is too late, no lifetime is waited for.
  Duration delay() const {
    const Duration twice = 2 * usual_ / kParts;
    return twice <= kLatest ? std::max(twice, kSoonest) : kSoonest;
  }

  std::deque<Start> untold_;         // in the order in which they began
  Duration usual_ = kLong * kParts;  // moving mean of lifetimes
};

}  // namespace holon::launch
