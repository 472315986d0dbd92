#include "qmanager/engine/state.hpp"

#include <algorithm>

namespace holon::qmanager {

const QosConfig& qos_of(const SchedulerConfig& config, const Job& job) {
  static const QosConfig none;
  if (config.qos.empty()) return none;
  const auto found = config.qos.find(job.request.qos);
  return found == config.qos.end() ? none : found->second;
}

void count_waiting(Job& job, bool counts, Time now) {
  if (counts == !job.uncounted_since.has_value()) return;
  if (counts) {
    job.uncounted += distance(*job.uncounted_since, now);
    job.uncounted_since.reset();
  } else {
    job.uncounted_since = now;
  }
}

namespace {

// Has the walk over the job's queue passed its place? Where the jobs of all queues are looked at in
// one order: the walk over any queue.
bool is_passed(Parts<const SchedulerConfig, const Queues> s, const Job& job) {
  const auto has_passed = [&](const Queue& queue) {
    return queue.walk.last && job.key < *queue.walk.last;
  };
  if (!s.config().max_reservation) return has_passed(s.queues().of(job));
  return std::any_of(s.queues().all.begin(), s.queues().all.end(), has_passed);
}

}  // namespace

void enqueue(Parts<const SchedulerConfig, Queues, Progress> s, Job& job) {
  const bool held = job.request.urgency == kUrgencyHold;
  if (s.config().priority.accrual != Accrual::always) count_waiting(job, !held, s.progress().clock);
  if (held) {
    job.place = Job::Place::held;
    job.why = Why::held;
    ++s.queues().of(job).held;
    return;
  }
  s.progress().unseen = true;
  job.place = Job::Place::pending;
  job.why = Why::not_considered;
  // A new job in front of jobs that were considered already: their turn is decided again.
  if (is_passed(s, job)) s.progress().dirty = true;
  s.queues().of(job).list(job);
}

namespace {

// Is the job to have a reservation that is not in the plan yet, beside which others are kept?
bool awaits_reservation(Parts<const Plan, const Queues> s, const Job& job) {
  const auto& queues = s.queues().all;
  if (std::none_of(queues.begin(), queues.end(), [](const Queue& q) { return q.policy.keep; }))
    return false;
  const auto& entitled = s.plan().entitled;
  return std::find(entitled.begin(), entitled.end(), job.request.id) != entitled.end();
}

}  // namespace

void dequeue(Parts<Plan, Queues, Progress> s, Job& job, Time now) {
  if (job.reserved || awaits_reservation(s, job)) s.progress().released = true;
  if (job.reserved) {
    unreserve(s, job, now);
    freed(s);
  }
  if (job.place == Job::Place::aside) s.queues().aside.edit().erase(job.request.id);
  if (job.place == Job::Place::held) --s.queues().of(job).held;
  if (job.place == Job::Place::pending) {
    Queue& queue = s.queues().of(job);
    // The jobs behind it may have waited for this job alone.
    if (queue.walk.last && job.key <= *queue.walk.last) s.progress().dirty = true;
    queue.unlist(job);
  }
}

void reserve(Parts<Plan, Queues> s, Job& job, Interval when) {
  ++s.plan().version;
  job.reserved = true;
  ++s.queues().of(job).reserved;
  job.planned = when.begin;
  job.planned_end = when.end;
  s.plan().reservations.edit().emplace(when.begin, job.request.id);
}

void no_longer_reserved(Parts<Plan, Queues> s, Job& job) {
  s.plan().reservations.edit().erase({*job.planned, job.request.id});
  job.reserved = false;
  --s.queues().of(job).reserved;
}

void unreserve(Parts<Plan, Queues> s, Job& job, Time now) {
  ++s.plan().version;
  s.plan().machine->release(job.request.id, now);
  no_longer_reserved(s, job);
}

void unreserve_queue(Parts<Jobs, Plan, Queues> s, std::size_t queue, Time now) {
  std::vector<Job*> of_queue;
  for (const auto& [when, id] : *s.plan().reservations)
    if (Job* job = s.jobs().find(id); job->queue == queue) of_queue.push_back(job);
  for (Job* job : of_queue) {
    unreserve(s, *job, now);
    job->why = Why::not_considered;
  }
  std::erase_if(s.plan().entitled, [&](JobId id) {
    const Job* job = s.jobs().find(id);
    return job == nullptr || job->queue == queue;
  });
}

void run(Parts<const Queues, Plan, Accounts, Preemption> s, Job& job, Interval when) {
  if (job.request.slots) {
    const std::int64_t got = s.plan().machine->procs_held(job.request.id);
    job.demand = job.demand.grown(got, job.procs);
    job.procs = got;
  }
  if (!job.request.environments.empty()) job.request = s.plan().machine->settled(job.request);
  ++s.plan().version;
  job.place = Job::Place::running;
  job.started = when.begin;
  job.planned_end = when.end;
  s.plan().running.edit().emplace(when.end, job.request.id);
  s.accounts().limiter.edit().started(job);
  s.accounts().job_runs(job);
  if (s.preemption().active && is_preemptible(s, job))
    s.preemption().candidates.edit().insert(job.request.id);
}

void moved_end(Parts<Plan, Accounts> s, Job& job, Time end) {
  ++s.plan().version;
  s.plan().running.edit().erase({job.planned_end, job.request.id});
  s.accounts().limiter.edit().ended(job);
  job.planned_end = end;
  s.accounts().limiter.edit().started(job);
  s.plan().running.edit().emplace(end, job.request.id);
}

std::unique_ptr<Scheduler::State> Scheduler::State::fork() const {
  auto fork = std::make_unique<State>(settings_);
  fork->tells_waits = false;
  fork->has_hosts = has_hosts;
  fork->jobs_ = Jobs::fork_of(jobs_);
  fork->plan_ = plan_.fork();
  fork->progress_ = progress_;
  fork->queues_ = queues_;
  fork->accounts_ = accounts_;
  fork->preemption_ = preemption_;
  for (Queue& queue : fork->queues_.all)
    if (queue.hooks) queue.hooks = queue.hooks->twin();
  for (const auto& [id, advance] : advances_.all)
    fork->advances_.all.emplace(
        id, Advance{advance.request,
                    std::make_unique<Scheduler>(Scheduler(advance.inner->state_->fork())),
                    advance.environment, advance.slots, advance.cancelled, advance.intruders});
  fork->advances_.of_job = advances_.of_job;
  fork->advances_.intruders = advances_.intruders;
  fork->advances_.occupied = advances_.occupied;
  return fork;
}

}  // namespace holon::qmanager
