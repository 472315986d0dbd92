// look.cpp - questions about the scheduler: a job's outlook, the plan, the queues.
#include <fmt/core.h>

#include "qmanager/pass.hpp"
#include "qmanager/reason.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

Result<Scheduler::Outlook> Scheduler::outlook(JobId id) const {
  const State& s = *state_;
  if (const Scheduler* inner = s.within(id)) {
    Result<Outlook> within = inner->outlook(id);
    const JobId advance = s.in_advance.at(id);
    if (within && s.clock < s.advances.at(advance).request.when.begin)
      within->reason =
          fmt::format("advance reservation {}, in which it runs, has not begun", advance.value());
    return within;
  }
  const Job* job = s.find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not pending", id.value()));
  if (!s.intruders.empty())
    return Outlook{fmt::format("job {} runs past its limit into an advance reservation",
                               s.intruders.begin()->value()),
                   job->booked ? job->planned : std::nullopt, 0};
  Outlook outlook{reason_text(s, *job), job->booked ? job->planned : std::nullopt, 0};
  if (job->place != Job::Place::pending) return outlook;
  const PendingList& pending = s.queue_of(*job).pending;
  for (std::size_t slot = 0; slot < pending.slots() && pending.at(slot) != job; ++slot)
    outlook.position += pending.at(slot) != nullptr;
  return outlook;
}

Result<PriorityBreakdown> Scheduler::priority(JobId id, Time now) const {
  const State& s = *state_;
  if (const Scheduler* inner = s.within(id)) return inner->priority(id, now);
  const Job* job = s.find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not pending", id.value()));
  PriorityBreakdown breakdown =
      priority_of(s.config.priority, s.fairshare, *job, s.length_of(*job), now);
  breakdown.fixed =
      job->fixed_priority || job->request.urgency == kUrgencyExpedite || s.qos_of(*job).next_to_run;
  if (breakdown.fixed || !s.config.priority.active())
    breakdown.priority = -s.key_of(*job, now).rank;
  return breakdown;
}

void Scheduler::charge_past(const JobRequest& job, std::int64_t procs, Interval ran) {
  if (state_->counts_usage) state_->fairshare.charge(job, procs, ran);
}

std::vector<QueueStatus> Scheduler::queues() const {
  std::vector<QueueStatus> all;
  for (const Queue& queue : state_->queues)
    all.push_back({.name = queue.name,
                   .policy = queue.policy.name,
                   .enabled = queue.enabled,
                   .started = queue.started,
                   .pending = queue.pending.size(),
                   .considered = queue.walk.considered,
                   .counts = queue.counts});
  for (const auto& [id, job] : state_->jobs) {
    QueueStatus& status = all[job->queue];
    status.held += job->place == Job::Place::held;
    status.blocked += job->place == Job::Place::aside;
    status.running += job->place == Job::Place::running;
    status.reserved += job->booked;
  }
  return all;
}

namespace {

PlannedSpan span_of(const Scheduler::State& state, JobId id) {
  const Job& job = *state.find(id);
  resource::Allocation allocation = state.machine->holding(id);
  return {.job = id,
          .queue = state.queue_of(job).name,
          .reserved = job.booked,
          .when = allocation.when,
          .procs = job.request.slots ? state.machine->procs_held(id) : job.procs,
          .consumes = job.request.consumes,
          .allocation = std::move(allocation)};
}

}  // namespace

std::vector<PlannedSpan> Scheduler::plan(Time now) {
  Pass(*state_, now, {}).complete_plan();
  std::vector<PlannedSpan> spans;
  for (const auto& [end, id] : state_->running_by_end) spans.push_back(span_of(*state_, id));
  for (const auto& [begin, id] : state_->bookings) spans.push_back(span_of(*state_, id));
  for (const auto& [id, advance] : state_->advances) {
    resource::Allocation allocation = state_->machine->holding(id);
    const bool later = allocation.when.begin > now;
    spans.push_back({.job = id,
                     .queue = advance.request.resources.queue,
                     .reserved = later,
                     .advance = true,
                     .when = allocation.when,
                     .procs = state_->machine->procs_held(id),
                     .consumes = advance.request.resources.consumes,
                     .allocation = std::move(allocation)});
    if (later) continue;
    for (PlannedSpan& span : advance.inner->plan(now)) spans.push_back(std::move(span));
  }
  return spans;
}

std::vector<Window> Scheduler::windows(Time now) {
  Pass(*state_, now, {}).complete_plan();
  return state_->machine->windows(now);
}

}  // namespace holon::qmanager
