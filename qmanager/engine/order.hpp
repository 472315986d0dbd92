// order.hpp - a job's place in its queue. Private to qmanager/.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// As its priority is at `t`, with what was used until then.
OrderKey key_at(Parts<const SchedulerConfig, const Queues> state, const Job& job,
                const Fairshare& usage, Time t);
// As its priority was when all were computed last.
OrderKey key_of(Parts<const SchedulerConfig, const Queues, const Accounts, const Progress> state,
                const Job& job);

}  // namespace holon::qmanager
