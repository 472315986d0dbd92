// aging.hpp - priorities that change with time are computed anew every so often, and the queues
// sorted by them. Private to qmanager/.
#pragma once
#include "qmanager/engine/pass/ranking.hpp"

namespace holon::qmanager {

// Computes priorities anew. True: the order of a queue has changed, or keys in it have.
bool age_priorities(Parts<const SchedulerConfig, Jobs, Queues, Accounts, const Progress> s,
                    Time now);
// When priorities are next computed; nullopt: a new computation would make no difference.
std::optional<Time> next_aging(RankedParts s, Time now);

}  // namespace holon::qmanager
