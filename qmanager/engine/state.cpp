#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

const QosConfig& Scheduler::State::qos_of(const Job& job) const {
  static const QosConfig none;
  const auto found = config.qos.find(job.request.qos);
  return found == config.qos.end() ? none : found->second;
}

void Scheduler::State::count_waiting(Job& job, bool counts) const {
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
  progress.unseen = true;
  job.place = Job::Place::pending;
  job.why = Why::not_considered;
  Queue& queue = queue_of(job);
  // Someone new in front of jobs that were considered already: their turn has to be decided again.
  if (queue.walk.last && job.key < *queue.walk.last) progress.dirty = true;
  queue.pending.insert(job.key, &job);
}

void Scheduler::State::dequeue(Job& job, Time now) {
  if (job.reserved) {
    unreserve(job, now);
    freed();
    progress.released = true;
  }
  if (job.place == Job::Place::aside) queues.aside.edit().erase(job.request.id);
  if (job.place == Job::Place::held) --queue_of(job).held;
  if (job.place == Job::Place::pending) {
    Queue& queue = queue_of(job);
    // The jobs behind it may have waited for this job alone.
    if (queue.walk.last && job.key <= *queue.walk.last) progress.dirty = true;
    queue.pending.erase(job.key);
  }
}

void Scheduler::State::reserve(Job& job, Interval when) {
  ++plan.version;
  job.reserved = true;
  ++queue_of(job).reserved;
  job.planned = when.begin;
  job.planned_end = when.end;
  plan.reservations.edit().emplace(when.begin, job.request.id);
}

void Scheduler::State::no_longer_reserved(Job& job) {
  plan.reservations.edit().erase({*job.planned, job.request.id});
  job.reserved = false;
  --queue_of(job).reserved;
}

void Scheduler::State::unreserve(Job& job, Time now) {
  ++plan.version;
  plan.machine->release(job.request.id, now);
  no_longer_reserved(job);
}

void Scheduler::State::unreserve_queue(std::size_t queue) {
  std::vector<Job*> of_queue;
  for (const auto& [when, id] : *plan.reservations)
    if (Job* job = jobs.find(id); job->queue == queue) of_queue.push_back(job);
  for (Job* job : of_queue) {
    unreserve(*job, clock);
    job->why = Why::not_considered;
  }
  std::erase_if(plan.entitled, [&](JobId id) {
    const Job* job = jobs.find(id);
    return job == nullptr || job->queue == queue;
  });
}

void Scheduler::State::run(Job& job, Interval when) {
  if (job.request.slots) {
    const std::int64_t got = plan.machine->procs_held(job.request.id);
    job.demand = job.demand.grown(got, job.procs);
    job.procs = got;
  }
  if (!job.request.environments.empty()) job.request = plan.machine->settled(job.request);
  ++plan.version;
  job.place = Job::Place::running;
  job.started = when.begin;
  job.planned_end = when.end;
  plan.running.edit().emplace(when.end, job.request.id);
  accounts.limiter.edit().started(job);
  accounts.job_runs(job);
  if (preemption.active && is_preemptible(job)) preemption.candidates.edit().insert(job.request.id);
}

void Scheduler::State::moved_end(Job& job, Time end) {
  ++plan.version;
  plan.running.edit().erase({job.planned_end, job.request.id});
  accounts.limiter.edit().ended(job);
  job.planned_end = end;
  accounts.limiter.edit().started(job);
  plan.running.edit().emplace(end, job.request.id);
}

std::unique_ptr<Scheduler::State> Scheduler::State::fork() const {
  auto fork = std::make_unique<State>(settings_);
  fork->tells_waits = false;
  fork->has_hosts = has_hosts;
  fork->clock = clock;
  fork->jobs = Jobs::fork_of(jobs);
  fork->plan = plan.fork();
  fork->progress = progress;
  fork->queues = queues;
  fork->accounts = accounts;
  fork->preemption = preemption;
  for (Queue& queue : fork->queues.all)
    if (queue.hooks) queue.hooks = queue.hooks->twin();
  for (const auto& [id, advance] : advances.all)
    fork->advances.all.emplace(
        id, Advance{advance.request,
                    std::make_unique<Scheduler>(Scheduler(advance.inner->state_->fork())),
                    advance.environment, advance.slots, advance.cancelled, advance.intruders});
  fork->advances.of_job = advances.of_job;
  fork->advances.intruders = advances.intruders;
  fork->advances.occupied = advances.occupied;
  return fork;
}

}  // namespace holon::qmanager
