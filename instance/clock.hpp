// clock.hpp - the only place of the live instance that reads the time of day.
#pragma once
#include "base/time.hpp"

namespace holon::instance {

// Milliseconds since the Unix epoch.
Time wall_clock_ms();

}  // namespace holon::instance
