#include "qmanager/engine/walk/throttle.hpp"

#include <algorithm>

namespace holon::qmanager {

void wake_when_under(Queue& queue, const Throttle& over) {
  std::optional<Time>& wake = queue.walk.throttled_until;
  if (over.until && (!wake || *over.until < *wake)) wake = over.until;
}

bool opens_chunk(const Queue& queue, const Job& job, Time now) {
  const bool first_fit =
      queue.backfill == BackfillOrder::first_fit || queue.backfill == BackfillOrder::queue_order;
  const std::int64_t size = queue.config.chunk_size;
  return first_fit && size > 0 && now < queue.chunk_until && job.procs >= size;
}

namespace {

// A limit that is reached keeps back all jobs of its credential, of which there may be many.
bool is_over_limit(Parts<const Queues, Accounts> s, Walk& walk, const Job& job, Time now) {
  const Duration length = s.queues().length_of(job);
  if (walk.kept_back && walk.kept_back->is_like(job, length, now)) return true;
  auto over = s.accounts().limiter->over(job, now, length, false);
  if (!over) return false;
  const JobRequest& asked = job.request;
  walk.kept_back = {asked.user, asked.group, asked.account, asked.qos,       job.procs,
                    length,     job.demand,  now,           std::move(*over)};
  return true;
}

}  // namespace

bool throttled(Parts<const SchedulerConfig, const Progress, const Queues, Accounts> s, Queue& queue,
               Job& job, Time now, Deciding& deciding) {
  Walk& walk = queue.walk;
  if (walk.chunking && now < queue.chunk_until && job.procs < queue.config.chunk_size) {
    deciding.tell_why(job, Why::chunk);
    return true;
  }
  if (!s.accounts().has_limits) return false;
  const Accrual accrual = s.config().priority.accrual;
  if (auto over = s.accounts().limiter.edit().over_idle(job, s.queues().length_of(job))) {
    count_waiting(job, accrual == Accrual::always, s.progress().clock);
    job.detail = std::move(*over);
    deciding.tell_why(job, Why::idle_limit);
    return true;
  }
  const bool over = is_over_limit(s, walk, job, now);
  count_waiting(job, !over || accrual != Accrual::full_policy, s.progress().clock);
  if (!over) return false;
  walk.over_soft = true;
  wake_when_under(queue, walk.kept_back->over);
  if (job.detail != walk.kept_back->over.reason) job.detail = walk.kept_back->over.reason;
  deciding.tell_why(job, Why::limit);
  return true;
}

bool limits_reach_reserved(Parts<const Jobs, const Plan, const Queues, const Accounts> s,
                           Time now) {
  if (!s.accounts().has_limits) return false;
  const auto reached = [&](JobId id) {
    const Job* const job = s.jobs().find(id);
    if (job == nullptr || job->place != Job::Place::pending || s.queues().of(*job).policy.keep)
      return false;
    return s.accounts().limiter->over(*job, now, s.queues().length_of(*job), false).has_value();
  };
  const Plan::ByTime& planned = *s.plan().reservations;
  return std::any_of(s.plan().entitled.begin(), s.plan().entitled.end(), reached) ||
         std::any_of(planned.begin(), planned.end(),
                     [&](const auto& reservation) { return reached(reservation.second); });
}

}  // namespace holon::qmanager
