// plan.cpp - keeping the plan and the clock in agreement: overruns, reservations that have come
// due, compression.
#include <algorithm>
#include <functional>

#include "qmanager/engine/pass.hpp"

namespace holon::qmanager {

using resource::Allocation;

// A job past its planned end is assumed to need a sixteenth of its age more: few corrections for
// jobs that overrun for long, short waits for the others.
Time stretched_end(Time began, Time now) {
  return saturating_add(now, std::max<Duration>(1, distance(began, now) / 16));
}

// Units of a job that is past its planned end are still held, so its span grows; reservations in
// the way are dropped and planned again, in queue order, by the walk.
void Pass::hold_overruns() {
  if (s_.boundary && now_ >= *s_.boundary) s_.freed();
  if (s_.config.ends_on_limit)
    for (auto at = s_.running_by_end->begin(); at != s_.running_by_end->end() && at->first <= now_;
         ++at)
      s_.machine->vacate(at->second, now_);
  const Time late = s_.config.ends_on_limit ? now_ : saturating_add(now_, 1);
  std::vector<JobId> over;
  for (const auto& [end, id] : *s_.running_by_end) {
    if (end >= late) break;
    over.push_back(id);
  }
  if (over.empty()) return;
  drop_reservations(true);
  s_.freed();
  s_.sliced = false;
  for (JobId id : over) {
    if (s_.intruders.contains(id)) continue;  // hold_intruders() sees to it
    Job& job = *s_.find(id);
    s_.moved_end(job, stretch(job));
  }
}

// What can be in the way now is the end of the resources' lease, beyond which nothing is planned,
// or an advance reservation: up to it the job keeps its units, and then it intrudes. Returns the
// new end.
Time Pass::stretch(const Job& job) {
  const JobId id = job.request.id;
  s_.look_at(id);
  std::vector<Time> ends{stretched_end(job.started, now_)};
  for (const auto& [advance, held] : s_.advances)
    if (held.request.when.begin > now_) ends.push_back(held.request.when.begin);
  std::sort(ends.begin() + 1, ends.end(), std::greater<>());
  for (const Time end : ends) {
    if (end <= ends.front() && s_.machine->set_end(id, end)) return end;
  }
  if (!s_.advances.empty() && now_ < s_.machine->horizon().end)
    s_.intruders.emplace(id, Intruder{s_.machine->units_of(id), {job.started, now_}});
  return kTimeMax;
}

// The first reservation that is due and is not to wait for what is down.
Job* Pass::next_due() {
  for (const auto& [when, id] : *s_.bookings) {
    if (when > now_) break;
    Job& job = *s_.find(id);
    const Time patience = saturating_add(when, s_.queue_of(job).config.reservation_retry);
    if (now_ >= patience || s_.machine->intact(id)) return &job;
    if (!retry_until_ || patience < *retry_until_) retry_until_ = patience;
  }
  return nullptr;
}

// Kept reservations whose time has come become allocations. Where the clock has gone past the
// promised tick the span is made anew from now; if another promise is in its way, all are planned
// again.
void Pass::start_due() {
  while (Job* const due = next_due()) {
    Job& job = *due;
    s_.look_at(job.request.id);
    const Duration length = s_.length_of(job);
    if (auto over = s_.limiter->over(job, now_, length, true)) {
      s_.unbook(job, now_);
      ++s_.epoch;
      wake_when_under(s_.queue_of(job), *over);
      job.detail = std::move(over->reason);
      tell_why(job, Why::limit);
      continue;
    }
    // A range of slots is planned anew, too: its limits may leave fewer than it has reserved.
    const bool limited = job.request.slots && s_.limiter->active();
    const bool anew = *job.planned < now_ || limited;
    if (anew) s_.unbook(job, now_);
    Machine::Outcome outcome =
        anew ? s_.machine->start(limited ? within_limits(job) : job.request, now_, length)
             : s_.machine->claim(job.request, now_, length);
    auto* allocation = std::get_if<Allocation>(&outcome);
    if (allocation == nullptr) return replan();
    if (!anew) {
      s_.bookings.edit().erase({*job.planned, job.request.id});
      --s_.queue_of(job).booked;
    }
    job.booked = false;
    started(job, std::move(*allocation));
  }
}

void Pass::replan() {
  drop_reservations(true);
  s_.freed();
  s_.sliced = false;
  rank_by_policies();  // whose order made no difference while the promises stood
  begin_walks();
}

}  // namespace holon::qmanager
