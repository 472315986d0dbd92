#include "qmanager/engine/state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace holon::qmanager {

Duration Scheduler::State::length_of(const Job& job) const {
  const QueueConfig& queue = queues[job.queue].config;
  const Duration limit = job.request.limit > 0 ? job.request.limit : queue.default_duration;
  return limit > 0 ? saturating_add(limit, queue.duration_offset) : kTimeMax;
}

namespace {

constexpr std::int64_t kExpedited = INT64_MAX;
constexpr std::int64_t kNextToRun = INT64_MAX - 1;
constexpr std::int64_t kLargest = INT64_MAX - 2;  // that can be set by hand

// Whole numbers in the order of real ones: the bits of a double that is not negative are in its
// order already. All lie below the places of expedited jobs. REQUIRES: a number.
std::int64_t order_of(double priority) {
  const auto bits = std::bit_cast<std::int64_t>(std::abs(priority));
  return priority < 0 ? -bits : bits;
}

}  // namespace

const QosConfig& Scheduler::State::qos_of(const Job& job) const {
  static const QosConfig none;
  const auto found = config.qos.find(job.request.qos);
  return found == config.qos.end() ? none : found->second;
}

OrderKey Scheduler::State::key_at(const Job& job, const Fairshare& usage, Time t) const {
  std::int64_t priority = 0;
  if (job.fixed_priority)
    priority = is_ranked(job) ? order_of(static_cast<double>(*job.fixed_priority))
                              : std::clamp(*job.fixed_priority, -kLargest, kLargest);
  else if (job.request.urgency == kUrgencyExpedite)
    priority = kExpedited;
  else if (qos_of(job).next_to_run)
    priority = kNextToRun;
  else if (is_ranked(job))
    priority = order_of(job.ranked.value_or(static_cast<double>(built_in_priority(job, usage, t))));
  else
    priority = built_in_priority(job, usage, t);
  return {-priority, job.request.submitted, job.request.id.value()};
}

std::int64_t Scheduler::State::built_in_priority(const Job& job, const Fairshare& usage,
                                                 Time t) const {
  if (!config.priority.active()) return job.request.urgency;
  return priority_of(config.priority, usage, job, length_of(job), t).priority;
}

void Scheduler::State::count_waiting(Job& job, bool counts) {
  if (counts == !job.uncounted_since.has_value()) return;
  if (counts) {
    job.uncounted += distance(*job.uncounted_since, clock);
    job.uncounted_since.reset();
  } else {
    job.uncounted_since = clock;
  }
}

void Scheduler::State::enqueue(Job& job) {
  const bool held = job.request.urgency == kUrgencyHold;
  if (config.priority.accrual != Accrual::always) count_waiting(job, !held);
  if (held) {
    job.place = Job::Place::held;
    job.why = Why::held;
    ++queue_of(job).held;
    return;
  }
  unseen = true;
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
    released = true;
  }
  if (job.place == Job::Place::aside) aside.edit().erase(job.request.id);
  if (job.place == Job::Place::held) --queue_of(job).held;
  if (job.place == Job::Place::pending) {
    Queue& queue = queue_of(job);
    // The jobs behind it may have waited for this job alone.
    if (queue.walk.last && job.key <= *queue.walk.last) dirty = true;
    queue.pending.erase(job.key);
  }
}

void Scheduler::State::unbook(Job& job, Time now) {
  ++plan;
  machine->release(job.request.id, now);
  bookings.edit().erase({*job.planned, job.request.id});
  job.booked = false;
  --queue_of(job).booked;
}

void Scheduler::State::unbook_queue(std::size_t queue) {
  std::vector<Job*> of_queue;
  for (const auto& [when, id] : *bookings)
    if (Job* job = find(id); job->queue == queue) of_queue.push_back(job);
  for (Job* job : of_queue) {
    unbook(*job, clock);
    job->why = Why::not_considered;
  }
  std::erase_if(unbooked, [&](JobId id) {
    const Job* job = find(id);
    return job == nullptr || job->queue == queue;
  });
}

void Scheduler::State::book(Job& job, Interval when) {
  ++plan;
  job.booked = true;
  ++queue_of(job).booked;
  job.planned = when.begin;
  job.planned_end = when.end;
  bookings.edit().emplace(when.begin, job.request.id);
}

void Scheduler::State::run(Job& job, Interval when) {
  if (job.request.slots) {
    const std::int64_t got = machine->procs_held(job.request.id);
    job.demand = job.demand.grown(got, job.procs);
    job.procs = got;
  }
  if (!job.request.environments.empty()) job.request = machine->settled(job.request);
  ++plan;
  job.place = Job::Place::running;
  job.started = when.begin;
  job.planned_end = when.end;
  running_by_end.edit().emplace(when.end, job.request.id);
  limiter.edit().started(job);
  count_usage(job);
  ++running;
}

void Scheduler::State::moved_end(Job& job, Time end) {
  ++plan;
  running_by_end.edit().erase({job.planned_end, job.request.id});
  limiter.edit().ended(job);
  job.planned_end = end;
  limiter.edit().started(job);
  running_by_end.edit().emplace(end, job.request.id);
}

Job* Scheduler::State::copied(JobId id) {
  const Job* original = origin_->find(id);
  return original == nullptr ? nullptr : &add(std::make_unique<Job>(*original));
}

std::unique_ptr<Scheduler::State> Scheduler::State::fork() const {
  auto fork = std::make_unique<State>(settings_);
  static_cast<PlanState&>(*fork) = *this;
  static_cast<QueueState&>(*fork) = *this;
  static_cast<AccountState&>(*fork) = *this;
  static_cast<IntrusionState&>(*fork) = *this;
  fork->tells_waits = false;
  fork->machine = machine->clone();
  fork->has_hosts = has_hosts;
  fork->clock = clock;
  for (Queue& queue : fork->queues)
    if (queue.hooks) queue.hooks = queue.hooks->twin();
  for (const auto& [id, advance] : advances)
    fork->advances.emplace(
        id, Advance{advance.request,
                    std::make_unique<Scheduler>(Scheduler(advance.inner->state_->fork())),
                    advance.environment, advance.slots, advance.cancelled, advance.intruders});
  fork->in_advance = in_advance;
  fork->origin_ = this;
  return fork;
}

}  // namespace holon::qmanager
