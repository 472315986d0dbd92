// throttle.hpp - jobs that are kept back by a limit, or because what is free is kept for larger
// jobs. Private to qmanager/.
#pragma once
#include "qmanager/engine/walk/deciding.hpp"

namespace holon::qmanager {

// Is the job kept back? It neither starts nor is planned, and those behind it go on.
bool throttled(Parts<const SchedulerConfig, const Progress, const Queues, Accounts> s, Queue& queue,
               Job& job, Time now, Deciding& deciding);
// Has a start brought a job to a limit whose reservation, made or still to be made, lasts until the
// walks begin anew? O(such reservations).
bool limits_reach_reserved(Parts<const Jobs, const Plan, const Queues, const Accounts> s, Time now);
// Notes in the walk over the queue when the limit gives way.
void wake_when_under(Queue& queue, const Throttle& over);
// Is the job so large that, as long as it waits, what was freed lately is kept for jobs like it?
// Maui has that for FIRSTFIT alone.
bool opens_chunk(const Queue& queue, const Job& job, Time now);

}  // namespace holon::qmanager
