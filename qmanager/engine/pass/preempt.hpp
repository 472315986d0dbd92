// preempt.hpp - jobs that cannot start take the places of preemptible ones. Private to qmanager/.
#pragma once
#include <optional>

#include "qmanager/engine/walk/trying.hpp"

namespace holon::qmanager {

using PreemptParts =
    Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, const Accounts, Preemption>;

// Jobs that wait for the end of others start as soon as there is room, before anybody else is
// looked at; until then their places are reserved for them.
void serve_claims(PreemptParts s, Time now, Deciding& deciding);

// After a walk: who may preempt, and could not start, does. Returns when to look again where nobody
// could make room for a job; nullopt: when something changes.
std::optional<Time> make_room(PreemptParts s, Time now, Deciding& deciding, Trying& trying);

}  // namespace holon::qmanager
