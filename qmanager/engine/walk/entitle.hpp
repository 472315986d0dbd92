// entitle.hpp - which of the jobs that cannot start get a reservation: depth, QOS flags, Maui's
// buckets and thresholds. Private to qmanager/.
#pragma once
#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {

// Does the job get a reservation if it cannot start? The policy of its queue may say so, and why; a
// job that time alone entitles is noted in the queue's walk.
bool entitled(const PolicyParts& s, Queue& queue, Job& job, Time now);
// Counts, in the walk over the queue, a job that has a reservation or is to have one.
void count_reservation(const SchedulerConfig& config, Queue& queue, const Job& job);
// Does another queue keep its reservations, so that both queues' reservations are planned side by
// side, and may a job behind those looked at here get one? O(queues, QOS and buckets).
bool plans_more_beside_kept(Parts<const SchedulerConfig, const Queues> s, const Queue& queue);
// Counts, for every job that waits in front of a starting job, that it was passed once more. True:
// one of them is entitled by now, and all jobs are to be looked at again.
bool count_bypassed(Jobs& jobs, Queue& queue, const Job& job);

}  // namespace holon::qmanager
