// progress.hpp - how far passes have come, and what the next one has to do. Private to qmanager/.
#pragma once
#include <optional>

#include "base/time.hpp"

namespace holon::qmanager {

struct Progress {
  Time clock = 0;       // the latest time that was told
  bool dirty = false;   // walks must begin anew from the top
  bool unseen = false;  // jobs have come since the last pass
  bool sliced = false;  // a walk ran out of budget and goes on first
  bool released =
      false;  // units were given back since the walks began: reservations may move there
  // The plan changes by itself at this time: a pass at or after it begins anew.
  std::optional<Time> boundary;

  // Has the next pass look at all jobs again, from the top.
  void begin_anew() {
    dirty = true;
    sliced = false;
  }
};

}  // namespace holon::qmanager
