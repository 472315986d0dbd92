// preempt.hpp - jobs that cannot start take the places of preemptible ones. Private to qmanager/.
#pragma once
#include <optional>

#include "qmanager/engine/walk/trying.hpp"

namespace holon::qmanager {

using PreemptParts =
    Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, const Accounts, Preemption>;

// Starts jobs that wait for the ends of others as soon as there is room, before any other job is
// looked at; until then their places are reserved for them.
void serve_claims(PreemptParts s, Time now, Deciding& deciding);

// Preempts, after a walk, for jobs that may preempt and could not start. Returns when to look again
// for a job that could get no room; nullopt: when something changes.
std::optional<Time> make_room(PreemptParts s, Time now, Deciding& deciding, Trying& trying);

}  // namespace holon::qmanager
