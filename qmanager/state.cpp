#include "qmanager/state.hpp"

namespace holon::qmanager {

Duration Scheduler::State::length_of(const Job& job) const {
  const QueueConfig& queue = queues[job.queue].config;
  const Duration limit = job.request.limit > 0 ? job.request.limit : queue.default_duration;
  return limit > 0 ? saturating_add(limit, queue.duration_offset) : kTimeMax;
}

void Scheduler::State::enqueue(Job& job) {
  if (job.request.urgency == kUrgencyHold) {
    job.place = Job::Place::held;
    job.why = Why::held;
    return;
  }
  job.place = Job::Place::pending;
  job.why = Why::not_considered;
  Queue& queue = queue_of(job);
  // Someone new in front of jobs that were considered already: their turn has to be decided again.
  if (queue.walk.last && job.key < *queue.walk.last) dirty = true;
  queue.pending.insert(job.key, &job);
}

void Scheduler::State::dequeue(Job& job, Time now) {
  if (job.booked) {
    unbook(job, now);
    freed();
  }
  if (job.place == Job::Place::aside) aside.erase(job.request.id);
  if (job.place == Job::Place::pending) {
    Queue& queue = queue_of(job);
    // Whoever was behind it may have waited for it alone.
    if (queue.walk.last && job.key <= *queue.walk.last) dirty = true;
    queue.pending.erase(job.key);
  }
}

void Scheduler::State::unbook(Job& job, Time now) {
  machine->release(job.request.id, now);
  bookings.erase({*job.planned, job.request.id});
  job.booked = false;
}

void Scheduler::State::book(Job& job, Interval when) {
  job.booked = true;
  job.planned = when.begin;
  job.planned_end = when.end;
  bookings.emplace(when.begin, job.request.id);
}

void Scheduler::State::run(Job& job, Interval when) {
  job.place = Job::Place::running;
  job.started = when.begin;
  job.planned_end = when.end;
  running_by_end.emplace(when.end, job.request.id);
  limiter.started(job);
  ++running;
}

}  // namespace holon::qmanager
