#include "qmanager/engine/pass/aging.hpp"

#include "qmanager/engine/order.hpp"

namespace holon::qmanager {

bool age_priorities(Parts<const SchedulerConfig, Jobs, Queues, Accounts, const Progress> s,
                    Time now) {
  bool changed = false;
  const PriorityConfig& priority = s.config().priority;
  Accounts& accounts = s.accounts();
  const bool due = !accounts.aged || now >= saturating_add(*accounts.aged, priority.interval);
  if (!accounts.ages || !due) return changed;
  accounts.aged = now;
  if (accounts.counts_usage) accounts.fairshare.edit().advance(now);
  const auto ages = [](const Queue& queue) {
    return !queue.hooks || !queue.hooks->has(Hook::priority);
  };
  for (Queue& queue : s.queues().all) {
    if (!ages(queue)) continue;
    queue.pending.reorder([&](Job* listed) {
      Job& job = s.jobs().own(*listed);
      const OrderKey key = key_of(s, job);
      changed = changed || key != job.key;
      return job.key = key;
    });
  }
  renew_keys_aside(s, ages);
  return changed;
}

std::optional<Time> next_aging(RankedParts s, Time now) {
  const PriorityConfig& priority = s.config().priority;
  if (ranks_may_change(s, now)) return saturating_add(now, priority.interval);
  if (!s.accounts().ages || !s.accounts().aged) return std::nullopt;
  for (const Queue& queue : s.queues().all)
    if (queue.started && !queue.pending.empty())
      return saturating_add(*s.accounts().aged, priority.interval);
  return std::nullopt;
}

}  // namespace holon::qmanager
