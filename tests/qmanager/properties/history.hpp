// history.hpp - random histories of a scheduler under many settings: jobs come, end early, late or
// in time, are cancelled, become urgent; queues are closed, nodes go down, resources are reserved
// ahead.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "qmanager/scheduler.hpp"

namespace holon::tests {

struct Setting {
  const char* name;
  std::function<void(qmanager::SchedulerConfig&)> set;
  bool reserves_ahead = false;
};

std::span<const Setting> all_settings();

// Over cores that all are alike, or over a graph on which some jobs take whole nodes.
enum class Over { numbers, graph };
std::string to_string(Over over);

struct Manner {
  bool asks = false;        // questions at every point between events, at and between passes
  bool shortcuts = true;    // SchedulerConfig::shortcuts
  bool every_tick = false;  // a pass at each tick, not only at events and when it is due
  bool layered = false;     // the machine is below a layer that says nothing
  const char* match_policy = "first";  // of the graph
};

// So many are played of each kind, or as many as HOLON_HISTORIES says (the target soak_histories).
unsigned histories(unsigned in_suite);

// What was decided.
struct Decided {
  std::string all;  // a line each
  // Who starts when, and who is refused: those of one tick in the order of their
  // numbers.
  std::string starts;
};

// The same seed, setting and machine are the same history.
Decided play(unsigned seed, const Setting& setting, Over over, Manner manner = {});

}  // namespace holon::tests
