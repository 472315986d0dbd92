// pass.hpp - one pass of the scheduler: the engine behind every policy. Private to qmanager/.
//
// A reservation is put into the plan only when a later job could make use of the gap in front of
// it. On a full machine that is never, which is why a burst of short jobs does not pay for
// planning.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

StepResult run_pass(Scheduler::State& state, Time now, Budget budget);

// Makes, in a fork and for a question, the reservations that no pass had a use for yet. Jobs that
// came, ended or became due since the last pass are left to the next one. Returns until when more
// time makes no difference.
Time complete_plan(Scheduler::State& fork, Time now);

// Makes way for an advance reservation: reservations that each pass makes anew give way to it; kept
// ones do not. Returns what was decided.
std::vector<Decision> make_way(Scheduler::State& state, Time now);

}  // namespace holon::qmanager
