// ranking.hpp - where the policy that a user wrote is asked in a pass: the places at which settings
// decide for a queue without one. Private to qmanager/.
//
// Priorities are asked for once per job and tick at most, in passes in which the order can make a
// difference; those that were made of unchanging facts alone are asked for once. A reservation that
// outlives the pass is kept, so that no answer given later can delay it.
#pragma once
#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {

// The parts that tell whether the order of a queue makes a difference.
using RankedParts = Parts<const SchedulerConfig, const Jobs, const Plan, const Progress,
                          const Queues, const Accounts>;

// Begins a pass. A policy that was given up leaves its queue to the base policy.
void begin_policies(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, const Accounts> s,
                    Time now);
// Asks for the ranks of the jobs of all queues, where they could make a difference. True: the order
// of one queue has changed.
bool rank_by_policies(
    Parts<const SchedulerConfig, Jobs, const Plan, const Progress, Queues, Accounts> s, Time now);
// May time change an order that policies gave, and with it which jobs start?
bool ranks_may_change(RankedParts s, Time now);
// Why the policy keeps the job behind those that wait in front of it ("": it gives no reason);
// nullopt: it does not keep it there. REQUIRES: the queue has hooks.
std::optional<std::string> kept_in_line(const PolicyParts& s, const Queue& queue, const Job& job,
                                        Time now);
// The policy's answer, which is kept in the job; nullopt: the policy has no opinion.
std::optional<bool> policy_reserves(const PolicyParts& s, const Queue& queue, Job& job, Time now);

}  // namespace holon::qmanager
