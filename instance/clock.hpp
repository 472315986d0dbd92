// clock.hpp - the only place of the live instance that reads a clock.
#pragma once
#include "base/time.hpp"

namespace holon::instance {

// Milliseconds since the Unix epoch.
Time wall_clock_ms();

// Microseconds since some fixed instant; never goes back. For measuring.
std::int64_t monotonic_us();

}  // namespace holon::instance
