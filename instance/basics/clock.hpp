// clock.hpp - the time of a live instance; only this part of an instance reads clocks.
//
// The wall clock is for people: anybody may set it while jobs run, and it differs between machines.
// A scheduler needs a time that only goes forward. So all computed times (starts, limits, leases,
// holdings, priorities) are in *instance time*: the wall clock when the instance first began, plus
// the time since. Times from and for people are translated at the edge.
// docs/decisions/0008-instance-time.md has the reasons.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace holon::instance {

// Milliseconds since the Unix epoch, as people's clocks show.
Time wall_clock_ms();

// Microseconds since some fixed instant; never goes back. For measuring.
std::int64_t monotonic_us();

// What a machine's clocks show at one moment, in ms.
struct ClockReading {
  Time wall = 0;        // since the Unix epoch; may be set to anything at any time
  Time since_boot = 0;  // cannot be set, goes on while the machine sleeps
};
ClockReading read_clocks();
// Changes with each start of the machine; "" where the system does not say.
std::string boot_id();

class InstanceClock {
 public:
  using Source = std::function<ClockReading()>;

  // The clock of a new instance: begins with the wall clock.
  explicit InstanceClock(std::string boot, Source source = read_clocks);

  // Continues the clock of an earlier broker of the instance: exactly, as long as the machine was
  // not started again, whatever was done to the wall clock; else with the wall clock or that
  // broker's time, whichever is later. `kept` is what its text_to_keep() returned ("" or nonsense:
  // not known). Never before `at_least`, the latest time that was written.
  void go_on(std::string_view kept, Time at_least);
  std::string text_to_keep() const;
  // The instance time at which text_to_keep() returned `kept`: its broker lived then. 0: not known.
  static Time kept_at(std::string_view kept);

  // Reads the clocks. Never less than before.
  Time now();
  // The wall clock less instance time, when now() was last read. Changes only where the wall clock
  // was set, by half a second or more.
  Duration offset() const { return offset_; }

  // Converts instance time to the wall clock, as it is set now, and back. 0 ("none") and kTimeMax
  // stay what they are.
  Time wall(Time instance) const;
  Time instance(Time wall) const;

 private:
  void begin_at(Time now, const ClockReading& reading, Duration offset);
  void look_at_wall(Time wall);

  std::string boot_;
  Source source_;
  Duration ahead_ = 0;  // of the time since the machine was started
  Time now_ = 0;
  Duration offset_ = 0;
};

}  // namespace holon::instance
