#include "qmanager/engine/pass/due.hpp"

#include "qmanager/engine/pass/replan.hpp"
#include "qmanager/engine/walk/throttle.hpp"
#include "qmanager/engine/walk/trying.hpp"

namespace holon::qmanager {

namespace {

struct NextDue {
  Job* job = nullptr;              // the first that is due and does not wait for what is down
  std::optional<Time> patience{};  // until when the first of those before it waits
};

NextDue next_due(Parts<Jobs, const Plan, const Queues> s, Time now) {
  NextDue next;
  for (const auto& [when, id] : *s.plan().reservations) {
    if (when > now) break;
    Job& job = *s.jobs().find(id);
    const Time patience = saturating_add(when, s.queues().of(job).config.reservation_retry);
    if (now >= patience || s.plan().machine->intact(id)) {
      next.job = &job;
      break;
    }
    if (!next.patience || patience < *next.patience) next.patience = patience;
  }
  return next;
}

// Starts the job on what is reserved for it. A job with a range of slots is planned anew: its
// limits may leave it fewer slots than it has reserved.
Machine::Outcome outcome_of(Parts<Plan, Queues, const Accounts> s, Job& job, Time now) {
  const Duration length = s.queues().length_of(job);
  const bool limited = job.request.slots && s.accounts().has_limits;
  if (*job.planned == now && !limited) {
    Machine::Outcome claimed = s.plan().machine->claim(job.request, now, length);
    if (std::holds_alternative<resource::Allocation>(claimed)) no_longer_reserved(s, job);
    return claimed;
  }
  unreserve(s, job, now);
  return s.plan().machine->start(limited ? within_limits(s, job, now, Bound::soft) : job.request,
                                 now, length);
}

}  // namespace

std::optional<Time> start_due(
    Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts> s, Time now,
    Deciding& deciding) {
  std::optional<Time> patience;
  for (;;) {
    const NextDue next = next_due(s, now);
    if (next.patience && (!patience || *next.patience < *patience)) patience = next.patience;
    if (next.job == nullptr) return patience;
    Job& job = *next.job;
    look_at(s.config(), job.request.id);
    if (auto over = s.accounts().limiter->over(job, now, s.queues().length_of(job), true)) {
      unreserve(s, job, now);
      ++s.plan().epoch;
      wake_when_under(s.queues().of(job), *over);
      job.detail = std::move(over->reason);
      deciding.tell_why(job, Why::limit);
      continue;
    }
    Machine::Outcome outcome = outcome_of(s, job, now);
    auto* allocation = std::get_if<resource::Allocation>(&outcome);
    if (allocation == nullptr) {
      replan(s, now);
      return patience;
    }
    deciding.start(job, std::move(*allocation));
  }
}

}  // namespace holon::qmanager
