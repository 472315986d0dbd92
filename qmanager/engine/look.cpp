// look.cpp - questions about the scheduler: a job's outlook, the plan, the queues.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "qmanager/engine/order.hpp"
#include "qmanager/engine/pass/pass.hpp"
#include "qmanager/engine/policy_view.hpp"
#include "qmanager/reason.hpp"
#include "qmanager/scheduler.hpp"
#include "qmanager/slots.hpp"

namespace holon::qmanager {

namespace {

std::string on_its_units(const SchedulerConfig& config, JobId number, const Advance& advance) {
  const std::vector<JobId>& who = advance.intruders;
  if (who.empty()) return {};
  return fmt::format("; {}, past the limit, still {} units of advance reservation {}",
                     jobs_in_words(who, who.size(), config.job_text),
                     who.size() == 1 ? "uses" : "use", number.value());
}

}  // namespace

Result<Scheduler::Outlook> Scheduler::outlook(JobId id) const {
  if (Status waits = check_waits(id); !waits) return tl::unexpected(waits.error());
  return asked().outlook_here(id);
}

Status Scheduler::check_waits(JobId id) const {
  const State& s = *state_;
  if (const Scheduler* inner = s.advances().within(id)) return inner->check_waits(id);
  const Job* job = s.jobs().find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not pending");
  return {};
}

Result<Scheduler::Outlook> Scheduler::outlook_here(JobId id) const {
  State& s = *state_;
  if (const Scheduler* inner = s.advances().within(id)) {
    Result<Outlook> within = inner->outlook(id);
    const JobId number = s.advances().of_job->at(id);
    const Advance& advance = s.advances().all.at(number);
    if (within && s.progress().clock < advance.request.when.begin)
      *within = {
          WaitKind::advance,
          fmt::format("advance reservation {}, in which it runs, has not begun", number.value()),
          within->planned_start, within->position};
    else if (within)
      within->reason += on_its_units(s.config(), number, advance);
    return within;
  }
  if (Status waits = check_waits(id); !waits) return tl::unexpected(waits.error());
  const Job& job = *std::as_const(s.jobs()).find(id);
  Cause cause = cause_of(s, job, s.progress().clock);
  Outlook outlook{cause.kind, std::move(cause.text), job.reserved ? job.planned : std::nullopt, 0};
  if (job.place != Job::Place::pending) return outlook;
  outlook.position = s.queues().of(job).pending.position(job.key);
  return outlook;
}

namespace {

// The rank that a user-written policy gave the job in place of the sum.
void tell_rank(PriorityBreakdown& breakdown, const PolicyWord& word, const std::string& policy) {
  constexpr double kLargest = 9e18;
  const double value = *word.rank->priority;
  breakdown.priority = std::llround(std::clamp(value, -kLargest, kLargest));
  breakdown.parts = {{word.rank->reason.empty() ? policy : word.rank->reason, value, 1, value}};
  breakdown.computed = word.ranked_at;
}

}  // namespace

Result<PriorityBreakdown> Scheduler::priority(JobId id, Time now) const {
  const State& s = *state_;
  if (const Scheduler* inner = s.advances().within(id)) return inner->priority(id, now);
  const Job* job = s.jobs().find(id);
  if (job == nullptr)
    return fail(Errc::not_found, "there is no " + job_in_words(id, s.config().job_text));
  PriorityBreakdown breakdown = priority_of(s.config().priority, *s.accounts().fairshare, *job,
                                            s.queues().length_of(*job), now);
  breakdown.fixed = job->fixed_priority || job->request.urgency == kUrgencyExpedite ||
                    qos_of(s.config(), *job).next_to_run;
  const bool ranked = is_ranked(s.queues(), *job);
  if (breakdown.fixed || (!s.config().priority.active() && !ranked))
    breakdown.priority = job->fixed_priority.value_or(-key_of(s, *job).rank);
  else if (const Rank* const rank = job->rank(); ranked && rank != nullptr && rank->priority)
    tell_rank(breakdown, *job->policy_word, s.queues().of(*job).config.policy);
  return breakdown;
}

std::optional<Time> Scheduler::counts_use_since(Time now) const {
  if (!state_->accounts().counts_usage) return std::nullopt;
  const FairshareConfig& fairshare = state_->config().priority.fairshare;
  return now - fairshare.depth * fairshare.interval;
}

void Scheduler::charge_past(const JobRequest& job, std::int64_t procs, Interval ran) {
  if (!state_->accounts().counts_usage || ran.end <= ran.begin) return;
  JobRequest settled = job;
  if (settled.queue.empty()) settled.queue = state_->config().default_queue;
  change().accounts().fairshare.edit().charge(settled, std::max<std::int64_t>(1, procs), ran);
}

void QueueCounts::add(const QueueCounts& other) {
  submitted += other.submitted;
  started += other.started;
  backfilled += other.backfilled;
  finished += other.finished;
  cancelled += other.cancelled;
  rejected += other.rejected;
  reprioritized += other.reprioritized;
  preempted += other.preempted;
}

void QueueStatus::add(const QueueStatus& within) {
  pending += within.pending;
  held += within.held;
  blocked += within.blocked;
  reserved += within.reserved;
  running += within.running;
  considered += within.considered;
  counts.add(within.counts);
}

std::vector<QueueStatus> Scheduler::queues() const {
  std::vector<QueueStatus> all;
  for (const Queue& queue : state_->queues().all)
    all.push_back({.name = queue.name,
                   .policy = queue.hooks ? queue.config.policy : queue.policy.name,
                   .hooks = queue.hooks ? std::optional(queue.hooks->status()) : std::nullopt,
                   .enabled = queue.enabled,
                   .started = queue.started,
                   .pending = queue.pending.size(),
                   .held = queue.held,
                   .considered = queue.walk.considered_in_all(),
                   .counts = queue.counts});
  // Waiting jobs, up to a million, are counted as they come and go; reservations are few.
  const auto of = [&](JobId id) -> QueueStatus& { return all[state_->jobs().find(id)->queue]; };
  for (const JobId id : *state_->queues().aside) ++of(id).blocked;
  for (const auto& [end, id] : *state_->plan().running) ++of(id).running;
  for (const auto& [begin, id] : *state_->plan().reservations) ++of(id).reserved;
  for (const auto& [id, advance] : state_->advances().all) {
    const std::vector<QueueStatus> within = advance.inner->queues();
    for (std::size_t i = 0; i < all.size(); ++i) all[i].add(within[i]);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].counts.add(state_->queues().all[i].in_advances);
  return all;
}

namespace {

std::vector<Consumes> consumed(const Units& units) {
  std::vector<Consumes> consumes;
  for (const auto& [pool, amount] : units.pools) consumes.push_back({pool, amount, false});
  return consumes;
}

PlannedSpan span_of(const Scheduler::State& state, JobId id) {
  const Job& job = *state.jobs().find(id);
  Units units = state.plan().machine->units_of(id);
  resource::Allocation& allocation = units.allocation;
  const std::int64_t procs = job.request.slots ? state.plan().machine->procs_held(id) : job.procs;
  return {.job = id,
          .queue = state.queues().of(job).name,
          .reserved = job.reserved,
          .when = allocation.when,
          .procs = procs,
          .consumes = consumed(units),
          .allocation = std::move(allocation),
          .environment = job.request.environments.empty()
                             ? job.request.environment
                             : state.plan().machine->settled(job.request).environment,
          .slots = slots_with(job.request, procs)};
}

}  // namespace

// The fork is kept until something changes or becomes due: questions about many jobs cost one fork.
Scheduler& Scheduler::asked(Time now) const {
  WholeFork& whole = state_->whole;
  if (whole.fork == nullptr || now < whole.from || now >= whole.until) {
    whole.fork = std::make_unique<Scheduler>(Scheduler(state_->fork()));
    whole.from = now;
    whole.until = complete_plan(*whole.fork->state_, now);
  }
  return *whole.fork;
}

const Scheduler& Scheduler::asked() const {
  return state_->whole.fork != nullptr ? *state_->whole.fork : asked(state_->progress().clock);
}

std::vector<PlannedSpan> Scheduler::plan(Time now) const {
  const State& s = *asked(now).state_;
  std::vector<PlannedSpan> spans;
  for (const auto& [end, id] : *s.plan().running) spans.push_back(span_of(s, id));
  for (const auto& [begin, id] : *s.plan().reservations) spans.push_back(span_of(s, id));
  for (const auto& [id, advance] : s.advances().all) {
    Units units = s.plan().machine->units_of(id);
    resource::Allocation& allocation = units.allocation;
    const bool later = allocation.when.begin > now;
    spans.push_back({.job = id,
                     .queue = advance.request.resources.queue,
                     .reserved = later,
                     .advance = true,
                     .when = allocation.when,
                     .procs = s.plan().machine->procs_held(id),
                     .consumes = consumed(units),
                     .allocation = std::move(allocation),
                     .environment = advance.environment,
                     .slots = advance.slots});
    if (later) continue;
    for (PlannedSpan& span : advance.inner->plan(now)) {
      span.environment.clear();  // it has the slots of the reservation
      spans.push_back(std::move(span));
    }
  }
  return spans;
}

namespace {

// Why no new job of the queue could start now; empty: that depends on the job.
std::string why_closed(const SchedulerConfig& config, const Queue& queue) {
  if (!queue.enabled) return "it takes no jobs now";
  if (!queue.started) return "it is stopped";
  const std::int64_t depth = queue.config.queue_depth;
  if (queue.is_at_depth(PoolSet()))
    return fmt::format("only the first {} tried (queue.depth = {})",
                       depth == 1 ? "waiting job is" : fmt::format("{} waiting jobs are", depth),
                       depth);
  if (!queue.policy.backfill && queue.walk.blocked_by.value() != 0)
    return fmt::format("first come, first served: {} waits",
                       job_in_words(queue.walk.blocked_by, config.job_text));
  return {};
}

}  // namespace

std::vector<Window> Scheduler::windows(Time now) const {
  const State& s = *asked(now).state_;
  if (closed_queues(now).size() == s.queues().all.size()) return {};
  return s.plan().machine->windows(now);
}

std::vector<ClosedQueue> Scheduler::closed_queues(Time now) const {
  std::vector<ClosedQueue> closed;
  const State& s = *asked(now).state_;
  for (const Queue& queue : s.queues().all)
    if (std::string reason = why_closed(s.config(), queue); !reason.empty())
      closed.push_back({queue.name, std::move(reason)});
  return closed;
}

}  // namespace holon::qmanager
