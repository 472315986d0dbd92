// by_policy.cpp - where the policy that a user wrote is asked: the places at which settings decide
// for a queue without one.
//
// Priorities are asked for once per job and tick at most, in passes in which the order can make a
// difference; those that were made of unchanging facts alone are asked for once. A promise that was
// made is a reservation that outlives the pass, so that no answer given later can delay it.
#include <algorithm>
#include <cmath>

#include "qmanager/engine/pass.hpp"
#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {

std::int64_t PolicyView::second_of_day() const {
  constexpr std::int64_t kDay = 86'400;
  if (s_.config.second_of_day) return s_.config.second_of_day(now_);
  return now_ / s_.config.priority.ticks_per_second % kDay;
}

std::int64_t PolicyView::reserved() const {
  if (queue_.policy.keep) return queue_.booked;
  std::int64_t all = 0;
  for (const auto& [bucket, held] : queue_.walk.reservations) all += held;
  return all;
}

UserUse PolicyView::user(const std::string& name) const {
  s_.fairshare.edit().advance(now_);
  if (s_.users_at != s_.plan) {
    s_.users.clear();
    for (const auto& [end, id] : *s_.running_by_end) {
      const Job& job = *std::as_const(s_).find(id);
      UserUse& use = s_.users[job.request.user];
      ++use.running;
      use.procs += job.procs;
    }
    s_.users_at = s_.plan;
  }
  const auto found = s_.users.find(name);
  UserUse use = found == s_.users.end() ? UserUse{} : found->second;
  use.used = s_.fairshare->used(Credential::user, name) /
             static_cast<double>(s_.config.priority.ticks_per_second);
  return use;
}

Window PolicyView::window() const {
  const std::vector<Window> windows = s_.machine->windows(now_);
  return windows.empty() ? Window{} : windows.front();
}

void Scheduler::State::rank(Job& job, Time now) {
  Queue& queue = queue_of(job);
  const Rank rank = queue.hooks->rank(view_of(job, now), PolicyView(*this, queue, now));
  job.ranked = rank.priority;
  job.ranked_at = now;
  job.rank_lasts = rank.lasts;
  queue.ranks_change = queue.ranks_change || !rank.lasts;
  job.rank_reason =
      rank.reason.empty() ? nullptr : std::make_shared<const std::string>(rank.reason);
}

void Scheduler::State::tell_policy(std::string_view event, const Job& job, Time now) {
  Queue& queue = queue_of(job);
  if (queue.hooks != nullptr && queue.hooks->has(Hook::on_event))
    queue.hooks->on_event(event, view_of(job, now), PolicyView(*this, queue, now));
}

// A policy that was given up leaves its queue to the base policy.
void Pass::begin_policies() {
  for (Queue& queue : s_.queues) {
    if (!queue.hooks) continue;
    queue.hooks->begin_pass(now_, queue.pending.size());
    if (queue.given_up || !queue.hooks->status().given_up) continue;
    queue.given_up = true;
    const bool keep = queue.policy.keep;  // what was promised
    queue.policy = queue.base;
    queue.policy.keep = keep;
    queue.pending.reorder([&](Job* listed) {
      Job& job = s_.own(*listed);
      return job.key = s_.key_of(job);
    });
    s_.freed();
    s_.sliced = false;
  }
}

// Ticks until a queue is asked for its order again: so many that a long one does not keep the
// scheduler from its work, 20 us for each job that waits.
Duration Pass::rest_after(const Queue& queue) const {
  constexpr std::int64_t kJobsASecond = 50'000;
  return static_cast<Duration>(queue.pending.size()) * s_.config.priority.ticks_per_second /
         kJobsASecond;
}

bool Pass::rank_by_policies() {
  bool changed = false;
  for (Queue& queue : s_.queues)
    if (queue.hooks && queue.started && queue.hooks->has(Hook::priority))
      changed = rank_by_policy(queue) || changed;
  return changed;
}

namespace {

// Nothing but the order and what is free says who starts and who is promised a start.
bool is_plain(const Scheduler::State& s, const Queue& queue) {
  const QueueConfig& config = queue.config;
  const auto has = [&](Hook hook) { return queue.hooks->has(hook); };
  return !has(Hook::may_reserve) && !has(Hook::may_backfill) && !s.limiter->active() &&
         s.config.qos.empty() && !s.config.max_reservation && !s.counts_bypass &&
         s.immediate.empty() && config.buckets.empty() && config.chunk_size == 0 &&
         config.threshold.type == ReservationThreshold::Type::none &&
         queue.backfill == BackfillOrder::queue_order &&
         queue.pending.size() <= static_cast<std::size_t>(config.queue_depth);
}

}  // namespace

// Would it start if it were looked at now, as far as is known? False: certainly not.
bool Pass::could_start(const Queue& queue, const Job& job) const {
  const Duration length = s_.length_of(job);
  const Duration ticks = length == kTimeMax ? s_.machine->horizon().end - now_ : length;
  const ShapeMemo& memo = s_.shapes[job.shape];
  const bool has_failed = memo.epoch == s_.epoch && memo.length <= ticks;
  return !(queue.policy.keep && has_failed) && !s_.machine->hopeless(job.request, now_);
}

// May its reservation become a start in this pass, so that another job is promised one?
bool Pass::may_be_served(const Job& job) const {
  return *job.planned <= now_ || (s_.released && !s_.machine->hopeless(job.request, now_));
}

// Can the order of the queue make a difference now? Where promises are kept, it does to two of whom
// both could start or be promised something, and to promises that may move or be served. Without
// promises, who is in front may keep anybody from starting who could.
bool Pass::order_matters(const Queue& queue) const {
  if (queue.pending.size() < 2) return false;
  if (!is_plain(s_, queue)) return true;
  // What is promised anew in each pass is promised in its order.
  if (!queue.policy.keep && queue.policy.reservations > 0) return true;
  const bool keep = queue.policy.keep && queue.policy.backfill;
  if (keep && s_.released && queue.booked > 1) return true;
  const bool promises = keep && queue.booked < queue.policy.reservations;
  const std::size_t enough = keep && !(s_.released && queue.booked > 0) ? 2 : 1;
  std::size_t rivals = 0;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    if (queue.pending.at(slot) == nullptr) continue;
    const Job& job = s_.seen(*queue.pending.at(slot));
    if (job.booked && may_be_served(job)) return true;
    if (!job.booked && (promises || could_start(queue, job)) && ++rivals == enough) return true;
  }
  return false;
}

// True: the order has changed. Nobody is asked where that could make no difference.
bool Pass::rank_by_policy(Queue& queue) {
  if (queue.pending.empty()) return false;
  if (queue.ranked_at && now_ < saturating_add(*queue.ranked_at, rest_after(queue))) return false;
  if (!queue.policy.keep && s_.machine->exhausted(now_)) return false;
  if (!order_matters(queue)) return false;
  bool asked = false;
  queue.ranks_change = false;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    Job* const listed = queue.pending.at(slot);
    if (listed == nullptr || listed->rank_lasts) continue;
    queue.ranks_change = true;
    if (listed->ranked_at == now_) continue;
    s_.rank(s_.own(*listed), now_);
    asked = true;
  }
  if (!asked) return false;
  queue.ranked_at = now_;
  s_.look_at(JobId());
  return queue.pending.rekey(queue.walk.last, [&](Job* listed) {
    Job& job = s_.own(*listed);
    return job.key = s_.key_of(job);
  });
}

// Does the policy keep it behind those that wait in front of it?
bool Pass::kept_in_line(Queue& queue, Job& job) {
  Walk& walk = queue.walk;
  const JobId first = walk.blocked_by;
  if (first.value() == 0 || !queue.policy.backfill) return false;
  std::optional<bool> answer = queue.base.backfill;
  std::string reason;
  if (queue.hooks->has(Hook::may_backfill)) {
    Opinion opinion =
        queue.hooks->ask(Hook::may_backfill, s_.view_of(job, now_), PolicyView(s_, queue, now_));
    if (opinion.yes) answer = opinion.yes;
    reason = std::move(opinion.reason);
  }
  if (*answer) return false;
  ++walk.considered;
  walk.in_order = false;
  if (job.detail != reason) job.why = Why::not_considered;  // so that the new reason is told
  job.detail = std::move(reason);
  tell_why(job, Why::policy, first);
  return true;
}

std::optional<bool> Pass::policy_reserves(Queue& queue, Job& job) const {
  if (!queue.hooks || !queue.hooks->has(Hook::may_reserve)) return std::nullopt;
  Opinion opinion =
      queue.hooks->ask(Hook::may_reserve, s_.view_of(job, now_), PolicyView(s_, queue, now_));
  const bool said = !opinion.reason.empty();
  job.reserve_reason =
      said ? std::make_shared<const std::string>(std::move(opinion.reason)) : nullptr;
  return opinion.yes;
}

}  // namespace holon::qmanager
