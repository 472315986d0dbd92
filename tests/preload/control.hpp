// control.hpp - what a test tells a process that has tampered_clock.cpp loaded: a small file that
// both have mapped.
#pragma once
#include <atomic>
#include <cstdint>

namespace holon::testing {

inline constexpr const char* kControlVariable = "HOLON_TEST_CLOCK";

struct ClockControl {
  std::atomic<std::int64_t> wall_offset_ms;   // the wall clock shows so much more
  std::atomic<std::int64_t> spinning_pid;     // this process hangs when it next looks at a clock
  std::atomic<std::int64_t> hanging_brokers;  // so many to come hang at their first look at a clock
  std::atomic<std::int64_t> hung_broker;      // the last of them that did
  std::atomic<std::int64_t>
      held_agents;  // not 0: agents that begin wait at their first look at one
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "it is shared by processes");

}  // namespace holon::testing
