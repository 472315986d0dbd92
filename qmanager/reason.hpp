// reason.hpp - why a pending job is not running, in a sentence that a person can act on. Private to
// qmanager/.
//
// The sentence is made from the plan as it is when somebody asks, so that whoever asks, and in
// whatever way, is told the same.
#pragma once
#include <string>
#include <vector>

#include "qmanager/engine/state.hpp"
#include "qmanager/wait_kind.hpp"

namespace holon::qmanager {

struct Cause {
  WaitKind kind = WaitKind::untried;
  std::string text;
  // Jobs and advance reservations that hold, or have reserved, what the job waits for. If that is
  // processors, running jobs are left out.
  std::vector<JobId> who;
  bool in_use = false;  // processors are in use
};

// The cause. Asks the machine a few times, but once for all jobs of a shape until the plan changes.
Cause cause_of(Parts<const SchedulerConfig, Plan, const Queues, const Advances, const Preemption> s,
               const Job& job, Time now);

// How many nodes are out of service and why, if a reason was given; empty: none is.
std::string told_outage(Parts<const SchedulerConfig, const Plan> s);

}  // namespace holon::qmanager
