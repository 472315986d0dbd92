#include "qmanager/engine/order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {

namespace {

constexpr std::int64_t kExpedited = INT64_MAX;
constexpr std::int64_t kNextToRun = INT64_MAX - 1;
constexpr std::int64_t kLargest = INT64_MAX - 2;  // the largest that can be set by hand

// Whole numbers in the order of real ones: the bits of a double that is not negative are in its
// order already. All lie below the places of expedited jobs. REQUIRES: a number.
std::int64_t order_of(double priority) {
  const auto bits = std::bit_cast<std::int64_t>(std::abs(priority));
  return priority < 0 ? -bits : bits;
}

// The priority without a user-written policy: the urgency, or the sum of what is weighted.
std::int64_t built_in_priority(Parts<const SchedulerConfig, const Queues> state, const Job& job,
                               const Fairshare& usage, Time t) {
  const PriorityConfig& config = state.config().priority;
  if (!config.active()) return job.request.urgency;
  return priority_of(config, usage, job, state.queues().length_of(job), t).priority;
}

}  // namespace

OrderKey key_at(Parts<const SchedulerConfig, const Queues> state, const Job& job,
                const Fairshare& usage, Time t) {
  const bool ranked = is_ranked(state.queues(), job);
  std::int64_t priority = 0;
  if (job.fixed_priority)
    priority = ranked ? order_of(static_cast<double>(*job.fixed_priority))
                      : std::clamp(*job.fixed_priority, -kLargest, kLargest);
  else if (job.request.urgency == kUrgencyExpedite)
    priority = kExpedited;
  else if (qos_of(state.config(), job).next_to_run)
    priority = kNextToRun;
  else if (const Rank* const rank = job.rank(); ranked && rank != nullptr && rank->priority)
    priority = order_of(*rank->priority);
  else if (ranked)
    priority = order_of(static_cast<double>(built_in_priority(state, job, usage, t)));
  else
    priority = built_in_priority(state, job, usage, t);
  return {-priority, job.request.submitted, job.request.id.value()};
}

OrderKey key_of(Parts<const SchedulerConfig, const Queues, const Accounts, const Progress> state,
                const Job& job) {
  const Accounts& accounts = state.accounts();
  return key_at(state, job, *accounts.fairshare, accounts.aged.value_or(state.progress().clock));
}

void renew_keys_aside(
    Parts<const SchedulerConfig, Jobs, const Queues, const Accounts, const Progress> s,
    const std::function<bool(const Queue&)>& of) {
  for (const JobId id : *s.queues().aside) {
    Job& job = *s.jobs().find(id);
    if (of(s.queues().of(job))) job.key = key_of(s, job);
  }
}

}  // namespace holon::qmanager
