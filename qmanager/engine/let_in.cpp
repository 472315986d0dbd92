// let_in.cpp - what aging alone can bring: when the order of a queue will let in a job that is kept
// out now.
#include <algorithm>
#include <map>

#include "qmanager/engine/order.hpp"

namespace holon::qmanager {

namespace {

std::vector<const Job*> in_order_of(const Scheduler::State& state, const Queue& queue,
                                    const Fairshare& usage, Time t) {
  std::vector<std::pair<OrderKey, const Job*>> keyed;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot)
    if (const Job* job = queue.pending.at(slot))
      keyed.emplace_back(key_at(state, *job, usage, t), job);
  std::sort(keyed.begin(), keyed.end());
  std::vector<const Job*> jobs;
  for (const auto& [key, job] : keyed) jobs.push_back(job);
  return jobs;
}

// Would a job that idle limits or the depth of the queue keep out be let in at `t`, in the order of
// that time, if nothing ran?
bool lets_in_at(const Scheduler::State& s, Time t) {
  Fairshare usage = *s.accounts().fairshare;
  usage.advance(t);
  Limiter limits = *s.accounts().limiter;
  limits.begin_idle();
  for (const Queue& queue : s.queues().all) {
    if (!queue.started) continue;
    std::map<PoolSet, std::int64_t> looked_at;
    for (const Job* job : in_order_of(s, queue, usage, t)) {
      std::int64_t& alike = looked_at[job->pools];
      if (alike == queue.config.queue_depth) continue;
      const Duration length = s.queues().length_of(*job);
      const bool kept_out = job->why == Why::idle_limit || job->why == Why::not_considered;
      if (limits.over_idle(*job, length)) continue;
      if (kept_out && !limits.over(*job, t, length, true)) return true;
      if (!limits.over(*job, t, length, false)) ++alike;
    }
  }
  return false;
}

}  // namespace

// Priorities are computed at whole intervals. Doubling finds one at which a job is let in, halving
// the first such one before it.
std::optional<Time> Scheduler::next_let_in(Time now) const {
  const State& s = *state_;
  const Duration interval = s.config().priority.interval;
  if (!s.accounts().ages || !s.accounts().aged) return std::nullopt;
  const auto at = [&](std::int64_t passed) { return *s.accounts().aged + passed * interval; };
  const std::int64_t most = distance(*s.accounts().aged, kTimeMax / 2) / interval;
  std::int64_t none = distance(*s.accounts().aged, now) / interval;
  std::int64_t some = none + 1;
  for (std::int64_t step = 1; some <= most && !lets_in_at(s, at(some)); step *= 2)
    none = std::exchange(some, some + std::min(step, most));
  if (some > most) return std::nullopt;
  while (some - none > 1) {
    const std::int64_t middle = none + (some - none) / 2;
    (lets_in_at(s, at(middle)) ? some : none) = middle;
  }
  return at(some);
}

}  // namespace holon::qmanager
