// state.hpp - what the scheduler remembers, part by part, and the small verbs that change several
// of them. Private to qmanager/.
//
// Invariants: a pending job is in its queue's list; a held or blocked one is not; every reservation
// has a span in the machine's plan and an entry in `plan.reservations`, every running job a span
// and an entry in `plan.running`.
#pragma once
#include <memory>

#include "qmanager/engine/state/parts.hpp"

namespace holon::qmanager {

// A fork with the plan made whole, for questions (Scheduler::asked).
struct WholeFork {
  std::unique_ptr<Scheduler> fork;  // null: no question came since the last change
  Time from = 0;                    // its answers hold at times in [from, until)
  Time until = 0;
};

struct Scheduler::State {
  explicit State(std::shared_ptr<const SchedulerConfig> settings)
      : tells_waits(settings->tell_waits), settings_(std::move(settings)) {}

  bool tells_waits;
  bool has_hosts = false;  // consumables of queues are per host
  mutable WholeFork whole;

  const SchedulerConfig& config() const { return *settings_; }
  Jobs& jobs() { return jobs_; }
  const Jobs& jobs() const { return jobs_; }
  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }
  Queues& queues() { return queues_; }
  const Queues& queues() const { return queues_; }
  Accounts& accounts() { return accounts_; }
  const Accounts& accounts() const { return accounts_; }
  Advances& advances() { return advances_; }
  const Advances& advances() const { return advances_; }
  Preemption& preemption() { return preemption_; }
  const Preemption& preemption() const { return preemption_; }

  // The same once more, for what-if: nothing that happens there is seen here. This must not change
  // as long as the other one is in use.
  std::unique_ptr<State> fork() const;

 private:
  std::shared_ptr<const SchedulerConfig> settings_;
  Jobs jobs_;
  Plan plan_;
  Progress progress_;
  Queues queues_;
  Accounts accounts_;
  Advances advances_;
  Preemption preemption_;
};

// ---- of a job

const QosConfig& qos_of(const SchedulerConfig& config, const Job& job);
inline bool is_preemptible(Parts<const Queues> s, const Job& job) {
  return job.request.preemptible || s.queues().of(job).config.preemptible;
}
// This job is the one that is looked at now: where a crash happens, it is known.
inline void look_at(const SchedulerConfig& config, JobId job) {
  if (config.looking_at != nullptr)
    config.looking_at->store(job.value(), std::memory_order_relaxed);
}

// ---- what happens to one

// Puts a job that is in no list where its urgency says.
void enqueue(Parts<const SchedulerConfig, Queues, Progress> s, Job& job);
// Takes a pending, held or blocked job out of wherever it is; a reservation of it is given back.
void dequeue(Parts<Plan, Queues, Progress> s, Job& job, Time now);
// The machine holds `when` for it, later.
void reserve(Parts<Plan, Queues> s, Job& job, Interval when);
// Gives its reservation back.
void unreserve(Parts<Plan, Queues> s, Job& job, Time now);
// Those of all jobs of the queue.
void unreserve_queue(Parts<Jobs, Plan, Queues> s, std::size_t queue, Time now);
// Its reservation has become an allocation on the machine, or was released there.
void no_longer_reserved(Parts<Plan, Queues> s, Job& job);
// The machine holds `when` for it, from now on.
void run(Parts<const Queues, Plan, Accounts, Preemption> s, Job& job, Interval when);
// The planned end of a running job has moved in the machine's plan: all that counts it follows.
void moved_end(Parts<Plan, Accounts> s, Job& job, Time end);
// From now on its waiting earns priority, or does not.
void count_waiting(Job& job, bool counts, Time now);

// Something is free that was not: all may be different now.
inline void freed(Parts<Plan, Progress> s) {
  ++s.plan().epoch;
  ++s.plan().version;
  s.progress().dirty = true;
}

// Of a job that names an advance reservation: as submit() and recover().
Result<std::optional<Reject>> submit_within(Scheduler::State& state, JobRequest job, Time now);
Status recover_within(Scheduler::State& state, JobRequest job,
                      const resource::Allocation& allocation);

}  // namespace holon::qmanager
