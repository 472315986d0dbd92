// state.hpp - what the scheduler remembers, and the small verbs that change it. Private to
// qmanager/.
//
// Invariants: a pending job is in its queue's list; a held or blocked one is not; every booked job
// has a span in the machine's plan and an entry in `bookings`, every running one a span and an
// entry in `running_by_end`.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "qmanager/engine/pending.hpp"
#include "qmanager/job.hpp"
#include "qmanager/machine/machine.hpp"
#include "qmanager/policy/policy.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// How far the walk over one queue has come. It outlives a pass: what was considered stays
// considered until something is freed, so that a submit at the tail costs one job, and a pass that
// ran out of budget goes on where it stopped.
struct Walk {
  std::optional<OrderKey> last;  // the job considered last
  std::int64_t considered = 0;   // jobs that were looked at and stay pending
  std::map<int, std::int64_t>
      reservations;        // jobs that hold, or are to be given, one; by bucket, 0 without buckets
  JobId blocked_by;        // the first job that could not start; 0: none yet
  bool compress = false;   // kept reservations are moved to the earliest place they fit
  bool by_window = false;  // the rest of the queue starts window by window
  std::vector<JobId> candidates;  // what of the rest may start in one, in queue order
  bool chunking = false;          // a large job waits: small ones leave it what is free
  bool in_order = true;  // no job has had to wait without a reservation yet: starts are no backfill
  std::optional<Time> throttled_until;  // the first limit that gives way with time
  std::optional<Time> ripe_at;          // the first job that may then have a reservation
  bool over_soft = false;  // a job over its soft limit was skipped; the hard one may let it start
  bool closed = false;     // no job behind `last` can start before something changes
};

struct Queue {
  std::string name;
  QueueConfig config;
  Policy policy;
  Policy base;  // what decides where `hooks` have no opinion
  // Of a policy that a user wrote, else null. Each fork has its own.
  std::shared_ptr<PolicyHooks> hooks;
  std::shared_ptr<const PolicyProgram> program;  // that `hooks` come from
  std::int64_t booked = 0;                       // jobs that hold a reservation
  bool given_up = false;                         // the policy that a user wrote, for `base`
  std::optional<Time> ranked_at;                 // when all jobs were asked for their places last
  bool ranks_change = false;  // time may change the order that the policy gives the queue
  BackfillOrder backfill = BackfillOrder::queue_order;
  PendingList pending;
  std::size_t held = 0;  // jobs
  Walk walk;
  bool enabled = true;  // takes submissions
  bool started = true;  // schedules
  QueueCounts counts;
  QueueCounts in_advances;  // of jobs in advance reservations that are over
  Time chunk_until = 0;     // until then freed processors are kept for large jobs
};

// An advance reservation and the scheduler of its jobs.
struct Advance {
  AdvanceRequest request;
  std::unique_ptr<Scheduler> inner;
  std::string environment;  // that its slots were spread by
  std::int64_t slots = 0;
  bool cancelled = false;
  std::vector<JobId> intruders;  // jobs that use units which the reservation holds

  bool over(Time now) const { return cancelled || now >= request.when.end; }
};

// A job that runs past its limit into an advance reservation, or an advance reservation that is
// over though jobs of it run. In the plan it has what nobody else has; the advance reservation does
// without the rest (intrusion.cpp).
struct Intruder {
  Units uses;
  Interval when;  // since its start, until it is looked at again
};

// The longest-known failure of a shape: a job of it at least this long cannot start either, until
// something is freed.
struct ShapeMemo {
  std::uint64_t epoch = 0;
  Duration length = 0;
};

// What keeps jobs of a shape from starting; found when a client asks.
struct Obstacle {
  std::uint64_t plan = 0;            // of State::plan, when it was found
  std::optional<Shortage> shortage;  // they lack something now
  // Else: from here on something is promised to others that they would still need; nullopt: nothing
  // is.
  std::optional<Time> until;
};

// The spans of jobs and reservations, and what passes have learnt about them.
struct PlanState {
  using ByTime = std::set<std::pair<Time, JobId>>;

  Shared<ByTime> running_by_end;
  Shared<ByTime> bookings;  // by planned start
  std::vector<JobId>
      unbooked;  // entitled to a reservation that no pass has needed yet, in order of entitlement
  std::vector<ShapeMemo> shapes;
  std::uint64_t epoch = 1;  // grows whenever something in the plan is freed
  std::uint64_t plan = 1;   // grows whenever something in it changes
  std::unordered_map<ShapeId, Obstacle> obstacles;
  bool dirty = false;     // walks must begin anew from the top
  bool unseen = false;    // jobs have come since the last pass
  bool sliced = false;    // a walk ran out of budget and goes on first
  bool released = false;  // units were given back since the walks began: others may move there
  std::optional<Time>
      boundary;  // the plan changes by itself then: a pass at or after it begins anew
  std::size_t running = 0;
};

// The queues, and the jobs that are in none of their lists.
struct QueueState {
  // The jobspec that a queue's `requires` made of another one.
  struct Narrowed {
    std::shared_ptr<const resource::Jobspec> from;
    std::string queue;
    std::shared_ptr<const resource::Jobspec> made;
  };

  std::vector<Queue> queues;
  Shared<std::set<JobId>> aside;  // blocked: no resource that is up can serve them
  std::vector<JobId> immediate;   // to be started by the next whole pass, or rejected
  Narrowed narrowed;              // made last
};

// What is counted for limits, fairshare and priorities.
struct AccountState {
  Shared<Limiter> limiter;
  Shared<Fairshare> fairshare;
  bool counts_usage = false;             // fairshare plays a part
  bool counts_bypass = false;            // so does how often a job was passed by others
  bool limits_stop_aging = false;        // whether waiting earns priority depends on limits
  std::optional<Time> aged;              // when priorities were computed last
  std::map<std::string, UserUse> users;  // what runs, by user, when `plan` was users_at
  std::uint64_t users_at = 0;
};

// The jobs that use units which an advance reservation holds.
struct IntrusionState {
  std::map<JobId, Intruder> intruders;
  bool occupied = false;  // some advance reservation does without units of its own
};

struct Scheduler::State : PlanState, QueueState, AccountState, IntrusionState {
  explicit State(std::shared_ptr<const SchedulerConfig> settings)
      : config(*settings), tells_waits(settings->tell_waits), settings_(std::move(settings)) {}

  const SchedulerConfig& config;
  bool tells_waits;
  std::unique_ptr<Machine> machine;
  bool has_hosts = false;  // consumables of queues are per host
  Time clock = 0;          // the latest time that was told
  std::map<JobId, Advance> advances;
  Shared<std::unordered_map<JobId, JobId>> in_advance;  // job -> the reservation it runs in

  // The same once more, for what-if: nothing that happens there is seen here. Jobs are copied when
  // they are first asked for, so this must not change as long as the other one is in use.
  std::unique_ptr<State> fork() const;
  // REQUIRES: this is no fork.
  const auto& jobs() const { return jobs_; }
  Job& add(std::unique_ptr<Job> job) {
    const JobId id = job->request.id;
    return *jobs_.insert_or_assign(id, std::move(job)).first->second;
  }
  void forget(JobId id) {
    if (origin_ == nullptr)
      jobs_.erase(id);
    else
      jobs_[id] = nullptr;
  }

  void look_at(JobId job) const {
    if (config.looking_at != nullptr)
      config.looking_at->store(job.value(), std::memory_order_relaxed);
  }

  const Job* find(JobId id) const {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) return found->second.get();
    return origin_ == nullptr ? nullptr : origin_->find(id);
  }
  Job* find(JobId id) {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) return found->second.get();
    return origin_ == nullptr ? nullptr : copied(id);
  }
  // A job of a queue's list, which in a fork is that of the origin.
  Job& own(Job& listed) { return origin_ == nullptr ? listed : *find(listed.request.id); }
  // The same, to be looked at only.
  const Job& seen(const Job& listed) const {
    return origin_ == nullptr ? listed : *find(listed.request.id);
  }
  // The scheduler of the job's advance reservation; nullptr: the job is in no reservation.
  Scheduler* within(JobId id) const {
    const auto found = in_advance->find(id);
    return found == in_advance->end() ? nullptr : advances.at(found->second).inner.get();
  }
  Queue& queue_of(const Job& job) { return queues[job.queue]; }
  const Queue& queue_of(const Job& job) const { return queues[job.queue]; }

  const QosConfig& qos_of(const Job& job) const;
  // Its place in the queue, as its priority was when all were computed last.
  OrderKey key_of(const Job& job) const { return key_at(job, *fairshare, aged.value_or(clock)); }
  // Without a policy that a user wrote: the urgency, or the sum of what is weighted.
  std::int64_t built_in_priority(const Job& job, const Fairshare& usage, Time t) const;
  // As key_of() at `t`, with what was used until then.
  OrderKey key_at(const Job& job, const Fairshare& usage, Time t) const;
  // Would one of the jobs that idle limits or the depth of the queue keep out be let in, in the
  // order of `t`, if nothing ran?
  bool lets_in_at(Time t) const;
  // Does the policy that a user wrote give the job its place?
  bool is_ranked(const Job& job) const {
    const Queue& queue = queues[job.queue];
    return queue.hooks != nullptr && queue.hooks->has(Hook::priority);
  }
  // Asks the policy of the job's queue for its place; the answer is in the job. REQUIRES:
  // is_ranked().
  void rank(Job& job, Time now);
  // An event of a job's life, told to the policy of its queue if that wants to know.
  void tell_policy(std::string_view event, const Job& job, Time now);
  // What the job, which starts now, holds after the policy of its queue has said where it is best
  // placed. REQUIRES: it holds what it was given.
  void place_by_policy(const Job& job, resource::Allocation& given, Time now);
  JobView view_of(const Job& job, Time now) const {
    return {job, length_of(job), now, config.priority.ticks_per_second};
  }
  // From now on its waiting earns priority, or does not.
  void count_waiting(Job& job, bool counts);
  // Ticks the plan gives the job; kTimeMax: until the horizon.
  Duration length_of(const Job& job) const;
  void freed() { ++epoch, ++plan, dirty = true; }
  // Puts a job that is in no list where its urgency says.
  void enqueue(Job& job);
  // Takes a pending, held or blocked job out of wherever it is; a reservation of it is given back.
  void dequeue(Job& job, Time now);
  void unbook(Job& job, Time now);
  void unbook_queue(std::size_t queue);  // all reservations of its jobs
  void book(Job& job, Interval when);
  void run(Job& job, Interval when);
  // The planned end of a running job has moved in the machine's plan: all that counts it follows.
  void moved_end(Job& job, Time end);
  // For fairshare: it runs, here or in an advance reservation.
  void count_usage(const Job& job) {
    if (counts_usage) fairshare.edit().started(job.request, job.procs, job.started);
  }

  // A fork of this with the plan made whole, for questions (Scheduler::asked); null: no question
  // came since the last change. Its answers hold at times in [whole_from, whole_until).
  mutable std::unique_ptr<Scheduler> whole;
  mutable Time whole_from = 0;
  mutable Time whole_until = 0;

 private:
  Job* copied(JobId id);

  std::shared_ptr<const SchedulerConfig> settings_;
  const State* origin_ = nullptr;                         // whose fork this is
  std::unordered_map<JobId, std::unique_ptr<Job>> jobs_;  // of a fork: those that it has changed
};

// Of a job that names an advance reservation: as submit() and recover().
Result<std::optional<Reject>> submit_within(Scheduler::State& state, JobRequest job, Time now);
Status recover_within(Scheduler::State& state, JobRequest job,
                      const resource::Allocation& allocation);

}  // namespace holon::qmanager
