// overruns.hpp - jobs that are past their planned ends still hold their units: the plan follows the
// clock. Private to qmanager/.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// The assumed end of a span that began at `began` and is past its planned end at `now`.
Time stretched_end(Time began, Time now);

// The spans of jobs past their planned ends grow; all reservations are dropped then, and made
// again, in queue order, by the walk. A job whose units are reserved ahead for others becomes an
// intruder.
void hold_overruns(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts, Advances> s,
                   Time now);

}  // namespace holon::qmanager
