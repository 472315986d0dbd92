// windows.hpp - Maui's BACKFILLPOLICY FIRSTFIT, BESTFIT and GREEDY: which of the jobs that fit
// are started in a backfill window.
//
// The windows are visited widest first. FIRSTFIT: each job that fits in the window is started, in
// queue order. BESTFIT: the one with the largest metric, the earlier in the queue where two are
// equal; again, until nothing fits. GREEDY: the set of jobs with the largest summed metric that
// fits in the window side by side, found by a search that gives up after so many sets
// (BACKFILLMAXSCHEDULES); exact when it does not.
// Guarantee: no reservation is delayed. Private to qmanager/.
#pragma once
#include "qmanager/engine/walk/trying.hpp"

namespace holon::qmanager {

// Leaves the job, which has passed all checks of the walk, to the windows.
void leave_to_windows(const Plan& plan, Queue& queue, Job& job, Deciding& deciding);
// Starts jobs that were left to windows. True: some were started.
bool fill_windows(Parts<const SchedulerConfig, Jobs, const Plan, const Queues, const Accounts> s,
                  Queue& queue, Time now, Deciding& deciding, Trying& trying);

}  // namespace holon::qmanager
