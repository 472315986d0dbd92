#include "qmanager/engine/pass/ranking.hpp"

#include "qmanager/engine/order.hpp"

namespace holon::qmanager {

void begin_policies(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, const Accounts> s,
                    Time now) {
  for (Queue& queue : s.queues().all) {
    if (!queue.hooks) continue;
    queue.hooks->begin_pass(now, queue.pending.size());
    if (queue.given_up || !queue.hooks->status().given_up) continue;
    queue.given_up = true;
    const bool keep = queue.policy.keep;  // reservations are kept
    queue.policy = queue.base;
    queue.policy.keep = keep;
    queue.pending.reorder([&](Job* listed) {
      Job& job = s.jobs().own(*listed);
      return job.key = key_of(s, job);
    });
    renew_keys_aside(s, [&](const Queue& of) { return &of == &queue; });
    freed(s);
    s.progress().sliced = false;
  }
}

namespace {

// Ticks until a queue is asked for its order again: 20 us for each waiting job, so that asking a
// long queue does not keep the scheduler from its work.
Duration rest_after(const Queue& queue, std::int64_t ticks_per_second) {
  constexpr std::int64_t kJobsASecond = 50'000;
  return static_cast<Duration>(queue.pending.size()) * ticks_per_second / kJobsASecond;
}

// Only the order and what is free decide which jobs start and which get reservations.
bool is_plain(Parts<const SchedulerConfig, const Queues, const Accounts> s, const Queue& queue) {
  const QueueConfig& config = queue.config;
  const auto has = [&](Hook hook) { return queue.hooks->has(hook); };
  return !has(Hook::may_reserve) && !has(Hook::may_backfill) && !s.accounts().has_limits &&
         s.config().qos.empty() && !s.config().max_reservation && !s.accounts().counts_bypass &&
         s.queues().immediate.empty() && config.buckets.empty() && config.chunk_size == 0 &&
         config.threshold.type == ReservationThreshold::Type::none &&
         queue.backfill == BackfillOrder::queue_order &&
         queue.pending.size() <= static_cast<std::size_t>(config.queue_depth);
}

// Would the job start if it were looked at now, as far as is known? False: certainly not.
bool could_start(Parts<const Plan, const Queues> s, const Queue& queue, const Job& job, Time now) {
  const ShapeMemo& memo = s.plan().shapes[job.shape];
  const bool has_failed =
      memo.epoch == s.plan().epoch && memo.length <= s.plan().ticks(s.queues().length_of(job), now);
  return !(queue.policy.keep && has_failed) && !s.plan().machine->hopeless(job.request, now);
}

// May the job's reservation become a start in this pass, so that another job gets one?
bool may_be_served(Parts<const Plan, const Progress> s, const Job& job, Time now) {
  return *job.planned <= now ||
         (s.progress().released && !s.plan().machine->hopeless(job.request, now));
}

// Can the order of the queue make a difference now? Where reservations are kept, it does if two
// jobs could start or be reserved for, or a reservation may move or be served. Without kept
// reservations, the job in front may keep any job from starting that could.
bool order_matters(RankedParts s, const Queue& queue, Time now) {
  if (queue.pending.size() < 2) return false;
  if (!is_plain(s, queue)) return true;
  // Reservations that each pass makes anew follow its order: a job that is in front for a moment,
  // though nothing can start then, gets a reservation that comes due.
  if (!queue.policy.keep && queue.policy.reservations > 0) return true;
  const bool keep = queue.policy.keep && queue.policy.backfill;
  const bool released = s.progress().released;
  if (keep && released && queue.reserved > 1) return true;
  const bool reserves = keep && queue.reserved < queue.policy.reservations;
  const std::size_t enough = keep && !(released && queue.reserved > 0) ? 2 : 1;
  std::size_t rivals = 0;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    if (queue.pending.at(slot) == nullptr) continue;
    const Job& job = s.jobs().seen(*queue.pending.at(slot));
    if (job.reserved && may_be_served(s, job, now)) return true;
    if (!job.reserved && (reserves || could_start(s, queue, job, now)) && ++rivals == enough)
      return true;
  }
  return false;
}

// True: no policy is asked, since no answer could make a difference.
bool order_is_idle(RankedParts s, const Queue& queue, Time now) {
  if (!s.config().shortcuts) return false;
  if (!queue.policy.keep && s.plan().machine->exhausted(now)) return true;
  return !order_matters(s, queue, now);
}

// True: the order has changed.
bool rank_by_policy(
    Parts<const SchedulerConfig, Jobs, const Plan, const Progress, Queues, Accounts> s,
    Queue& queue, Time now) {
  if (queue.pending.empty()) return false;
  const Duration rest = rest_after(queue, s.config().priority.ticks_per_second);
  if (queue.ranked_at && now < saturating_add(*queue.ranked_at, rest)) return false;
  if (order_is_idle(s, queue, now)) return false;
  bool asked = false;
  queue.ranks_change = false;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    Job* const listed = queue.pending.at(slot);
    if (listed == nullptr) continue;
    const Rank* const known = listed->rank();
    if (known != nullptr && known->lasts) continue;
    queue.ranks_change = true;
    if (known != nullptr && listed->policy_word->ranked_at == now) continue;
    rank(s, s.jobs().own(*listed), now);
    asked = true;
  }
  if (!asked) return false;
  queue.ranked_at = now;
  look_at(s.config(), JobId());
  return queue.pending.rekey(queue.walk.last, [&](Job* listed) {
    Job& job = s.jobs().own(*listed);
    return job.key = key_of(s, job);
  });
}

}  // namespace

bool rank_by_policies(
    Parts<const SchedulerConfig, Jobs, const Plan, const Progress, Queues, Accounts> s, Time now) {
  bool changed = false;
  for (Queue& queue : s.queues().all)
    if (queue.hooks && queue.started && queue.hooks->has(Hook::priority))
      changed = rank_by_policy(s, queue, now) || changed;
  return changed;
}

bool ranks_may_change(RankedParts s, Time now) {
  for (const Queue& queue : s.queues().all) {
    if (!queue.started || !queue.ranks_change || queue.pending.empty()) continue;
    if (!s.config().shortcuts) return true;
    if (!s.plan().machine->exhausted(now) && order_matters(s, queue, now)) return true;
  }
  return false;
}

std::optional<std::string> kept_in_line(const PolicyParts& s, const Queue& queue, const Job& job,
                                        Time now) {
  if (queue.walk.blocked_by.value() == 0 || !queue.policy.backfill) return std::nullopt;
  Opinion opinion;
  if (queue.hooks->has(Hook::may_backfill))
    opinion = queue.hooks->ask(Hook::may_backfill, view_of(s, job, now), PolicyView(s, queue, now));
  if (opinion.yes.value_or(queue.base.backfill)) return std::nullopt;
  return std::move(opinion.reason);
}

std::optional<bool> policy_reserves(const PolicyParts& s, const Queue& queue, Job& job, Time now) {
  if (!queue.hooks || !queue.hooks->has(Hook::may_reserve)) return std::nullopt;
  Opinion opinion =
      queue.hooks->ask(Hook::may_reserve, view_of(s, job, now), PolicyView(s, queue, now));
  const bool said = !opinion.reason.empty();
  if (said || job.policy_word) job.policy_word.make().reserve_reason = std::move(opinion.reason);
  return opinion.yes;
}

}  // namespace holon::qmanager
