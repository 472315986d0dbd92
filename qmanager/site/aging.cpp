// aging.cpp - priorities that change with time are computed anew every so often, and the queues
// sorted by them.
#include <algorithm>

#include "qmanager/engine/pass.hpp"

namespace holon::qmanager {

void Pass::age_priorities() {
  if (rank_by_policies()) {
    s_.dirty = true;
    s_.sliced = false;
  }
  const PriorityConfig& priority = s_.config.priority;
  if (!priority.ages() || (s_.aged && now_ < saturating_add(*s_.aged, priority.interval))) return;
  s_.aged = now_;
  if (s_.counts_usage) s_.fairshare.edit().advance(now_);
  bool changed = false;
  for (Queue& queue : s_.queues) {
    if (queue.hooks && queue.hooks->has(Hook::priority)) continue;
    queue.pending.reorder([&](Job* listed) {
      Job& job = s_.own(*listed);
      const OrderKey key = s_.key_of(job);
      changed = changed || key != job.key;
      return job.key = key;
    });
  }
  if (!changed) return;
  s_.dirty = true;
  s_.sliced = false;
}

std::optional<Time> Pass::next_aging() const {
  for (const Queue& queue : s_.queues)
    if (queue.started && queue.ranks_change && !queue.pending.empty() &&
        !s_.machine->exhausted(now_) && order_matters(queue))
      return saturating_add(now_, s_.config.priority.interval);
  if (!s_.config.priority.ages() || !s_.aged) return std::nullopt;
  for (const Queue& queue : s_.queues)
    if (queue.started && !queue.pending.empty())
      return saturating_add(*s_.aged, s_.config.priority.interval);
  return std::nullopt;
}

// ---- what aging alone can bring

namespace {

std::vector<const Job*> in_order_of(const Scheduler::State& state, const Queue& queue,
                                    const Fairshare& usage, Time t) {
  std::vector<std::pair<OrderKey, const Job*>> keyed;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot)
    if (const Job* job = queue.pending.at(slot))
      keyed.emplace_back(state.key_at(*job, usage, t), job);
  std::sort(keyed.begin(), keyed.end());
  std::vector<const Job*> jobs;
  for (const auto& [key, job] : keyed) jobs.push_back(job);
  return jobs;
}

}  // namespace

bool Scheduler::State::lets_in_at(Time t) const {
  Fairshare usage = *fairshare;
  usage.advance(t);
  Limiter limits = *limiter;
  limits.begin_idle();
  for (const Queue& queue : queues) {
    if (!queue.started) continue;
    std::int64_t looked_at = 0;
    for (const Job* job : in_order_of(*this, queue, usage, t)) {
      if (looked_at++ == queue.config.queue_depth) break;
      const bool kept_out = job->why == Why::idle_limit || job->why == Why::not_considered;
      if (limits.over_idle(*job, length_of(*job))) continue;
      if (kept_out && !limits.over(*job, t, length_of(*job), true)) return true;
    }
  }
  return false;
}

// Priorities are computed at whole intervals. Doubling finds one at which somebody is let in,
// halving the first one there is before it.
std::optional<Time> Scheduler::next_let_in(Time now) const {
  const State& s = *state_;
  const Duration interval = s.config.priority.interval;
  if (!s.config.priority.ages() || !s.aged) return std::nullopt;
  const auto at = [&](std::int64_t passed) { return *s.aged + passed * interval; };
  const std::int64_t most = distance(*s.aged, kTimeMax / 2) / interval;
  std::int64_t none = distance(*s.aged, now) / interval;
  std::int64_t some = none + 1;
  for (std::int64_t step = 1; some <= most && !s.lets_in_at(at(some)); step *= 2)
    none = std::exchange(some, some + std::min(step, most));
  if (some > most) return std::nullopt;
  while (some - none > 1) {
    const std::int64_t middle = none + (some - none) / 2;
    (s.lets_in_at(at(middle)) ? some : none) = middle;
  }
  return at(some);
}

}  // namespace holon::qmanager
