// order.hpp - a job's place in its queue. Private to qmanager/.
#pragma once
#include <functional>

#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// As its priority is at `t`, with what was used until then.
OrderKey key_at(Parts<const SchedulerConfig, const Queues> state, const Job& job,
                const Fairshare& usage, Time t);
// As its priority was when all were computed last.
OrderKey key_of(Parts<const SchedulerConfig, const Queues, const Accounts, const Progress> state,
                const Job& job);
// The same for the jobs of these queues that stand aside: they get their keys whenever those in the
// lists do, so that a job comes back to the place that it would have if no pass had come to it.
// O(jobs aside).
void renew_keys_aside(
    Parts<const SchedulerConfig, Jobs, const Queues, const Accounts, const Progress> s,
    const std::function<bool(const Queue&)>& of);

}  // namespace holon::qmanager
