// reach.hpp - how long a child may go by what it has been lent without a word from its parent.
//
// A parent that has heard nothing of a child for the fence time of a grant may take it. The child
// asks it often whether it still counts on it, and goes by what it has for half of that time from
// when it has asked: the parent has heard that later, and waits for longer. So both stop by their
// own clocks, which need to run equally fast and no more.
#pragma once
#include <algorithm>
#include <optional>

#include <utility>
#include <vector>

#include "base/time.hpp"
#include "holdings/holding.hpp"

namespace holon::instance {

class ParentReach {
 public:
  // The parent has said that it counts on the child, which had asked at `asked`; for `left` ms the
  // parent is sure of its own (negative: always).
  void answered(Time asked, Duration left) {
    if (asked_ && asked < *asked_) return;
    asked_ = asked;
    most_ = left < 0 ? kTimeMax : saturating_add(asked, left);
  }
  // Until when something is sure that has this fence time; kTimeMax: it has none.
  Time sure_until(Duration fence) const {
    if (fence == 0) return kTimeMax;
    return asked_ ? std::min(most_, saturating_add(*asked_, fence / 2)) : 0;
  }
  // So often to ask, for a thing of this fence time: each question may be lost.
  static Duration interval(Duration fence) { return std::max<Duration>(fence / 8, 50); }

 private:
  std::optional<Time> asked_;  // the last time that was answered
  Time most_ = kTimeMax;
};

// When each thing that may be fenced ends for the scheduler: at its own end while it is sure, and
// at once otherwise.
class SureEnds {
 public:
  using Ends = std::vector<std::pair<holdings::Units, Time>>;

  // What has another end now than at the last call, or was not there then. O(holdings) where
  // nothing has changed.
  Ends changes(const std::vector<holdings::Holding>& holdings, const ParentReach& reach, Time now);
  // When something is not sure any more without another answer from above; nullopt: nothing is sure
  // that may be fenced.
  std::optional<Time> next() const { return next_; }
  // The graph has changed, and may have other ends.
  void forget() { known_.clear(); }

 private:
  Ends known_;
  std::optional<Time> next_;
};

}  // namespace holon::instance
