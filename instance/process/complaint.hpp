// complaint.hpp - lasting trouble is reported once, and again at growing intervals.
#pragma once
#include <algorithm>
#include <string>

#include "base/time.hpp"

namespace holon::instance {

class Complaint {
 public:
  // Is `what`, which is wrong at `now`, to be reported? A new trouble is reported at once.
  bool is_due(const std::string& what, Time now) {
    const bool is_new = what != what_;
    if (!is_new && now < next_) return false;
    pause_ = is_new ? kFirst : std::min(2 * pause_, kLongest);
    what_ = what;
    next_ = saturating_add(now, pause_);
    return true;
  }
  void is_over() { what_.clear(); }

 private:
  static constexpr Duration kFirst = 60'000, kLongest = 3'600'000;
  std::string what_;
  Time next_ = 0;
  Duration pause_ = 0;
};

}  // namespace holon::instance
