// entitle.hpp - which of the jobs that cannot start get a reservation: depth, QOS flags, Maui's
// buckets and thresholds. Private to qmanager/.
#pragma once
#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {

// Does the job get a reservation if it cannot start? The policy of its queue may say so, and why;
// one that time alone entitles is noted in the queue's walk.
bool entitled(const PolicyParts& s, Queue& queue, Job& job, Time now);
// The job has a reservation, or is to have one: the walk over its queue counts it.
void count_reservation(const SchedulerConfig& config, Queue& queue, const Job& job);
// Does another queue keep its reservations, so that they are planned beside those of this one, and
// may a job behind those that were looked at get one of these? O(queues, QOS and buckets).
bool plans_more_beside_kept(Parts<const SchedulerConfig, const Queues> s, const Queue& queue);
// The job starts, and all that wait in front of it have been passed once more. True: one of them
// has been passed often enough now to be entitled, and all is to be looked at again.
bool count_bypassed(Jobs& jobs, Queue& queue, const Job& job);

}  // namespace holon::qmanager
