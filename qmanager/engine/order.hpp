// order.hpp - a job's place in its queue. Private to qmanager/.
#pragma once
#include <functional>

#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// The job's key by its priority at `t`, counting what was used until then.
OrderKey key_at(Parts<const SchedulerConfig, const Queues> state, const Job& job,
                const Fairshare& usage, Time t);
// The job's key by its priority when all priorities were last computed.
OrderKey key_of(Parts<const SchedulerConfig, const Queues, const Accounts, const Progress> state,
                const Job& job);
// Renews the keys of jobs that stand aside, in the queues that `of` accepts, whenever keys in the
// lists are renewed: a job then comes back to the place that it would have without the pass. O(jobs
// aside).
void renew_keys_aside(
    Parts<const SchedulerConfig, Jobs, const Queues, const Accounts, const Progress> s,
    const std::function<bool(const Queue&)>& of);

}  // namespace holon::qmanager
