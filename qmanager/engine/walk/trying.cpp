#include "qmanager/engine/walk/trying.hpp"

#include <algorithm>

#include "qmanager/slots.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::Never;
using resource::NotNow;

JobRequest within_limits(Parts<const Queues, const Accounts> s, const Job& job, Time now,
                         Bound bound) {
  const std::int64_t least = least_slots(job.request);
  const std::int64_t each = std::max<std::int64_t>(1, job.procs / least);
  const std::int64_t procs =
      s.accounts().limiter->procs_left(job, now, s.queues().length_of(job), bound == Bound::hard);
  return with_at_most(job.request, std::max(least, procs / each));
}

Tried Trying::start(Job& job, Bound bound) {
  const Duration length = s_.queues().length_of(job);
  const Duration ticks = s_.plan().ticks(length, now_);
  ShapeMemo& memo = s_.plan().shapes[job.shape];
  if (s_.config().shortcuts) {
    if (memo.epoch == s_.plan().epoch && memo.length <= ticks) return Tried::not_now;
    if (s_.plan().machine->hopeless(job.request, now_)) return Tried::not_now;
  }
  reserve_for_the_entitled();
  look_at(s_.config(), job.request.id);
  const bool limited = job.request.slots && s_.accounts().has_limits;
  Machine::Outcome outcome =
      limited ? s_.plan().machine->start(within_limits(s_, job, now_, bound), now_, length)
              : s_.plan().machine->start(job.request, now_, length);
  if (auto* allocation = std::get_if<Allocation>(&outcome)) {
    deciding_.start(job, std::move(*allocation));
    return Tried::started;
  }
  if (auto* never = std::get_if<Never>(&outcome)) {
    deciding_.reject(job, std::move(never->reason));
    return Tried::gone;
  }
  job.detail = std::move(std::get<NotNow>(outcome).reason);
  memo = {s_.plan().epoch, ticks};
  return Tried::not_now;
}

Tried Trying::reserve(Job& job, Time not_before) {
  reserve_for_the_entitled();
  look_at(s_.config(), job.request.id);
  const Duration length = s_.queues().length_of(job);
  // A job that starts at once gets no more slots than its limits leave it; later starts are limited
  // when they are due.
  if (job.request.slots && s_.accounts().has_limits) {
    Machine::Outcome now =
        s_.plan().machine->start(within_limits(s_, job, now_, Bound::soft), now_, length);
    if (auto* allocation = std::get_if<Allocation>(&now)) {
      deciding_.start(job, std::move(*allocation));
      return Tried::started;
    }
  }
  Machine::Outcome outcome = s_.plan().machine->reserve(job.request, {now_, not_before, length});
  if (auto* never = std::get_if<Never>(&outcome)) {
    deciding_.reject(job, std::move(never->reason));
    return Tried::gone;
  }
  if (auto* not_now = std::get_if<NotNow>(&outcome)) {
    job.detail = std::move(not_now->reason);
    return Tried::not_now;
  }
  Allocation& allocation = std::get<Allocation>(outcome);
  if (allocation.when.begin <= now_) {
    deciding_.start(job, std::move(allocation));
    return Tried::started;
  }
  deciding_.reserve(job, allocation.when);
  return Tried::reserved;
}

void Trying::reserve_for_the_entitled() {
  if (s_.plan().entitled.empty()) return;
  const std::vector<JobId> entitled = std::exchange(s_.plan().entitled, {});
  for (JobId id : entitled)
    if (Job* job = s_.jobs().find(id); job != nullptr && job->place == Job::Place::pending)
      reserve(*job, now_);
}

}  // namespace holon::qmanager
