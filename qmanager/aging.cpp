// aging.cpp - priorities that change with time are computed anew every so often, and the queues
// sorted by them.
#include "qmanager/pass.hpp"

namespace holon::qmanager {

void Pass::age_priorities() {
  const PriorityConfig& priority = s_.config.priority;
  if (!priority.ages() || (s_.aged && now_ < saturating_add(*s_.aged, priority.interval))) return;
  s_.aged = now_;
  if (s_.counts_usage) s_.fairshare.advance(now_);
  bool changed = false;
  for (Queue& queue : s_.queues)
    queue.pending.reorder([&](Job* job) {
      const OrderKey key = s_.key_of(*job);
      changed = changed || key != job->key;
      return job->key = key;
    });
  if (!changed) return;
  s_.dirty = true;
  s_.sliced = false;
}

std::optional<Time> Pass::next_aging() const {
  if (!s_.config.priority.ages() || !s_.aged) return std::nullopt;
  for (const Queue& queue : s_.queues)
    if (queue.started && !queue.pending.empty())
      return saturating_add(*s_.aged, s_.config.priority.interval);
  return std::nullopt;
}

}  // namespace holon::qmanager
