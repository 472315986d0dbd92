// state.hpp - what the scheduler remembers, part by part, and the small verbs that change several
// of them. Private to qmanager/.
//
// Invariants: a pending job is in its queue's list; a held or blocked one is not; every reservation
// has a span in the machine's plan and an entry in `plan.reservations`, every running job a span
// and an entry in `plan.running`.
#pragma once
#include <memory>

#include "qmanager/engine/state/accounts.hpp"
#include "qmanager/engine/state/advances.hpp"
#include "qmanager/engine/state/jobs.hpp"
#include "qmanager/engine/state/plan.hpp"
#include "qmanager/engine/state/preemption.hpp"
#include "qmanager/engine/state/progress.hpp"
#include "qmanager/engine/state/queues.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// A fork with the plan made whole, for questions (Scheduler::asked).
struct WholeFork {
  std::unique_ptr<Scheduler> fork;  // null: no question came since the last change
  Time from = 0;                    // its answers hold at times in [from, until)
  Time until = 0;
};

struct Scheduler::State {
  explicit State(std::shared_ptr<const SchedulerConfig> settings)
      : config(*settings), tells_waits(settings->tell_waits), settings_(std::move(settings)) {}

  const SchedulerConfig& config;
  bool tells_waits;
  bool has_hosts = false;  // consumables of queues are per host
  Time clock = 0;          // the latest time that was told

  Jobs jobs;
  Plan plan;
  Progress progress;
  Queues queues;
  Accounts accounts;
  Advances advances;
  Preemption preemption;
  mutable WholeFork whole;

  // The same once more, for what-if: nothing that happens there is seen here. This must not change
  // as long as the other one is in use.
  std::unique_ptr<State> fork() const;

  // ---- of a job

  Queue& queue_of(const Job& job) { return queues.of(job); }
  const Queue& queue_of(const Job& job) const { return queues.of(job); }
  Duration length_of(const Job& job) const { return queues.length_of(job); }
  const QosConfig& qos_of(const Job& job) const;
  bool is_preemptible(const Job& job) const {
    return job.request.preemptible || queues.of(job).config.preemptible;
  }
  Scheduler* within(JobId id) const { return advances.within(id); }
  void look_at(JobId job) const {
    if (config.looking_at != nullptr)
      config.looking_at->store(job.value(), std::memory_order_relaxed);
  }

  // ---- what happens to one

  // Puts a job that is in no list where its urgency says.
  void enqueue(Job& job);
  // Takes a pending, held or blocked job out of wherever it is; a reservation of it is given back.
  void dequeue(Job& job, Time now);
  // The machine holds `when` for it, later.
  void reserve(Job& job, Interval when);
  // Gives its reservation back.
  void unreserve(Job& job, Time now);
  void unreserve_queue(std::size_t queue);  // all of its jobs
  // Its reservation has become an allocation on the machine, or was released there.
  void no_longer_reserved(Job& job);
  // The machine holds `when` for it, from now on.
  void run(Job& job, Interval when);
  // The planned end of a running job has moved in the machine's plan: all that counts it follows.
  void moved_end(Job& job, Time end);
  // From now on its waiting earns priority, or does not.
  void count_waiting(Job& job, bool counts) const;

  // Something is free that was not: all may be different now.
  void freed() {
    ++plan.epoch;
    ++plan.version;
    progress.dirty = true;
  }

 private:
  std::shared_ptr<const SchedulerConfig> settings_;
};

// Of a job that names an advance reservation: as submit() and recover().
Result<std::optional<Reject>> submit_within(Scheduler::State& state, JobRequest job, Time now);
Status recover_within(Scheduler::State& state, JobRequest job,
                      const resource::Allocation& allocation);

}  // namespace holon::qmanager
