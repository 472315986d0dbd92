// windows.hpp - backfill windows: what is free from now on, as node-time rectangles.
#pragma once
#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace holon::qmanager {

// `procs` processors that nobody holds or has reserved for `length` ticks from now. Windows
// overlap: a narrower one is longer. kTimeMax: without end.
struct Window {
  std::int64_t procs = 0;
  Duration length = 0;

  bool operator==(const Window&) const = default;
};

}  // namespace holon::qmanager
