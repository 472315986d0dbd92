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

  // A copy for what-if: nothing that happens there is seen here. This state must not change as long
  // as the copy is in use.
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
// Notes that this job is looked at now, so that it is known if a crash happens.
inline void look_at(const SchedulerConfig& config, JobId job) {
  if (config.looking_at != nullptr)
    config.looking_at->store(job.value(), std::memory_order_relaxed);
}

// ---- what happens to one

// Puts a job that is in no list where its urgency says.
void enqueue(Parts<const SchedulerConfig, Queues, Progress> s, Job& job);
// Takes a pending, held or blocked job out of wherever it is; a reservation of it is given back.
void dequeue(Parts<Plan, Queues, Progress> s, Job& job, Time now);
// Enters the reservation that the machine holds for the job over `when`.
void reserve(Parts<Plan, Queues> s, Job& job, Interval when);
// Gives the job's reservation back.
void unreserve(Parts<Plan, Queues> s, Job& job, Time now);
// Gives the reservations of all jobs of the queue back.
void unreserve_queue(Parts<Jobs, Plan, Queues> s, std::size_t queue, Time now);
// Notes that the job's reservation has become an allocation on the machine, or was released there.
void no_longer_reserved(Parts<Plan, Queues> s, Job& job);
// Enters the job as running; the machine holds `when` for it.
void run(Parts<const Queues, Plan, Accounts, Preemption> s, Job& job, Interval when);
// Updates all counts after the planned end of a running job has moved in the machine's plan.
void moved_end(Parts<Plan, Accounts> s, Job& job, Time end);
// Sets whether the job's waiting earns priority from now on.
void count_waiting(Job& job, bool counts, Time now);

// Notes that something became free: every earlier finding may be outdated.
inline void freed(Parts<Plan, Progress> s) {
  ++s.plan().epoch;
  ++s.plan().version;
  s.progress().dirty = true;
}

// Holds, until `end`, what the running job has beside what it lends, and that again when it comes
// back. Errors: those of Scheduler::set_lent(); nothing has changed then.
Status hold_lent(Scheduler::State& state, Job& job, const LentParts& lent, Time end, Time now);
// Gives back what the job was to have again.
void release_lent(Scheduler::State& state, const Job& job, Time now);
// The job has what it lends back until `end` and no longer, which may be as long as before: not at
// all, if it ends before.
void end_lent_by(Machine& machine, const Job& job, Time end, Time now);

// submit() and recover() for a job that names an advance reservation.
Result<std::optional<Reject>> submit_within(Scheduler::State& state, JobRequest job, Time now);
Status recover_within(Scheduler::State& state, JobRequest job,
                      const resource::Allocation& allocation);

}  // namespace holon::qmanager
