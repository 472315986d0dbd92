// scheduler.hpp - which job next, where, when: a deterministic state machine without I/O.
//
// Events and `now` go in, decisions come out. The caller journals a decision, acts on it, and
// reports what happened as the next event. The scheduler already holds the resources of every Start
// it returns. Not thread-safe: one owner.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/text/job_words.hpp"
#include "base/time.hpp"
#include "qmanager/engine/advance.hpp"
#include "qmanager/lent.hpp"
#include "qmanager/policy/hooks.hpp"
#include "qmanager/policy/policy.hpp"
#include "qmanager/request.hpp"
#include "qmanager/site/access.hpp"
#include "qmanager/site/environment.hpp"
#include "qmanager/site/limits.hpp"
#include "qmanager/site/priority.hpp"
#include "qmanager/site/qos.hpp"
#include "qmanager/wait_kind.hpp"
#include "qmanager/windows.hpp"
#include "resource/allocation.hpp"

namespace holon::resource {
class ResourceStore;
struct GraphSpec;
}  // namespace holon::resource

namespace holon::qmanager {

class Machine;

struct QueueConfig {
  // fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N], or the name of one of the
  // configuration's programs.
  std::string policy = "fcfs";
  std::int64_t queue_depth = 32;  // jobs looked at in a pass that stay pending, at most 1,000,000
  std::int64_t max_queue_depth = 1'000'000;  // bounds queue_depth (Fluxion's max-queue-depth)
  std::int64_t reservation_depth = 64;       // of hybrid; easy is 1, conservative all
  std::int64_t max_reservation_depth = 100'000;
  // Grid Engine's max_reservation: the number of jobs, among those that ask (JobRequest::reserve),
  // that get a reservation, whatever the policy says; 0: none, and every job that fits starts.
  std::optional<std::int64_t> max_reservation;
  // How a job that may start before others is chosen (Maui's BACKFILLPOLICY),
  // engine/pass/windows.hpp. nullopt: first_fit where Maui's weights order the queue, else
  // queue_order.
  std::optional<BackfillOrder> backfill;
  BackfillMetric backfill_metric = BackfillMetric::procs;
  std::int64_t backfill_depth = 0;               // candidates for a window; 0: all
  std::int64_t backfill_max_schedules = 10'000;  // sets that greedy tries for a window
  // Ticks after an end in which what is free is kept for jobs of at least so many processors, if
  // one waits (Maui's BFCHUNKSIZE and BFCHUNKDURATION). 0: off.
  std::int64_t chunk_size = 0;
  Duration chunk_duration = 0;
  Duration default_duration = 0;  // of a job without a limit; 0: until the horizon
  Duration duration_offset =
      0;  // added to every job in planning: from its end until its units are usable
  // Maui's RESERVATIONDEPTH[X] and RESERVATIONQOSLIST[X], by X. If not empty, they say who gets a
  // reservation, in place of the policy's depth.
  std::map<int, ReservationBucket> buckets;
  std::optional<ReservationPolicy> reservation_policy;  // nullopt: the policy's own
  ReservationThreshold threshold;
  // Ticks that a due kept reservation stays where it is though some of its units are down (Maui's
  // RESERVATIONRETRYTIME).
  Duration reservation_retry = 0;
  PreemptRule preempt;       // for its jobs that cannot start
  bool preemptible = false;  // all of its jobs are preemptible, whatever they ask for

  // Nodes that the queue's jobs may run on have all of these properties (Flux's `requires`).
  std::vector<std::string> properties;
  AccessList access;                              // the users who may use it
  std::optional<std::int64_t> slots;              // slots that its jobs may use at a time
  std::map<std::string, resource::Amount> pools;  // consumables of the queue alone

  bool operator==(const QueueConfig&) const = default;
};

struct SchedulerConfig {
  QueueConfig defaults;
  std::map<std::string, QueueConfig> queues;  // by name; empty: one queue called "default"
  std::string default_queue = "default";
  // Grid Engine's bound on the reservations of all queues together, beside each queue's own; the
  // jobs of all queues are then looked at in one order. nullopt: queue by queue.
  std::optional<std::int64_t> max_reservation;
  std::map<std::string, resource::Amount> pools;  // consumables beside the resource tree
  LimitsConfig limits;
  PriorityConfig priority;
  std::map<std::string, QosConfig> qos;  // by name
  // Users and groups whose jobs may count for an account, by its name; "default": for the others.
  std::map<std::string, AccessList> accounts;
  std::map<std::string, ParallelEnvironment> environments;  // Grid Engine's PEs, by name
  // Policies that users wrote, by the name that a queue's `policy` may have ("mine.lua").
  std::map<std::string, std::shared_ptr<const PolicyProgram>> programs;
  // Reservations under a user-written policy outlive the pass, whatever its base policy does.
  bool keep_promises = true;
  bool tell_waits = true;  // Wait decisions are wanted
  JobText job_text;        // how reasons name a job
  // Words for `when`, seen from `now`, in reasons; none: the number.
  std::function<std::string(Time when, Time now)> show_time;
  // The ticks of `when` on people's clocks, and the seconds since midnight there; none: `when` is
  // that already, and days begin at multiples of 24 hours.
  std::function<Time(Time when)> wall_time;
  std::function<std::int64_t(Time when)> second_of_day;
  std::function<std::string(Duration)> show_length;  // as show_time, of lengths
  std::function<std::string()> show_drains;  // drained nodes and reasons; "": none were given
  // What is still to come that the job may be placed on, as a clause: "n[2-3] have not come yet";
  // "": nothing. While something is, a job that is too large for what is here waits instead of
  // being refused.
  std::function<std::string(const JobRequest&)> awaited;
  // Holds the number of the job that is looked at, 0 in between: a watcher that finds a pass stuck
  // can say at which job. Null: not noted.
  std::atomic<std::uint64_t>* looking_at = nullptr;
  bool ends_on_limit =
      false;  // a job at its limit is taken to be over in that very tick (replay of traces)
  // false: each pass looks at every job anew and puts every reservation into the plan, whatever
  // earlier passes have found. Slow, and the same decisions: for tests, which compare them.
  bool shortcuts = true;

  std::string length_text(Duration length) const {
    return show_length ? show_length(length) : std::to_string(length);
  }
};

// Events in a queue since it was made.
struct QueueCounts {
  std::int64_t submitted = 0;
  std::int64_t started = 0;
  std::int64_t backfilled = 0;
  std::int64_t finished = 0;
  std::int64_t cancelled = 0;
  std::int64_t rejected = 0;
  std::int64_t reprioritized = 0;
  std::int64_t preempted = 0;  // times that one of its jobs had to give its place

  void add(const QueueCounts& other);
};

struct QueueStatus {
  std::string name;
  std::string policy;
  std::optional<HookStatus> hooks{};  // of a policy that a user wrote
  bool enabled = true;                // takes submissions
  bool started = true;                // schedules
  std::size_t pending = 0;
  std::size_t held = 0;
  std::size_t blocked = 0;   // no resource that is up can serve them
  std::size_t reserved = 0;  // hold a reservation
  std::size_t running = 0;
  std::int64_t considered =
      0;  // jobs the last pass looked at that stay pending: "considered k of n"
  QueueCounts counts;

  // Adds the jobs of an advance reservation.
  void add(const QueueStatus& within);
};

// A span of the plan: what a job holds, or is to hold.
struct PlannedSpan {
  JobId job;
  std::string queue;
  bool reserved = false;  // later; else it runs
  bool advance = false;   // not a job: an advance reservation
  Interval when;          // as planned: the time limit, not the run time
  std::int64_t procs = 0;
  std::vector<Consumes> consumes;
  resource::Allocation allocation;
  std::string environment{};  // the parallel environment, and its slots there; "": none
  std::int64_t slots = 0;

  bool operator==(const PlannedSpan&) const = default;
};

// One change to a request that would let it start now.
struct Change {
  enum class Kind : std::uint8_t { limit, size, queue };
  Kind kind = Kind::limit;
  std::int64_t value = 0;  // the limit in ticks, or the count of what the request counts first
  std::string queue;
  double cost = 0;  // the share of what was asked for that is given up, 0 to 1
  std::string text;
};

struct Explanation {
  WaitKind kind = WaitKind::untried;
  std::string reason;
  std::optional<Time> planned_start;
  std::size_t position = 0;     // jobs of its queue that are looked at before it
  std::int64_t considered = 0;  // of so many pending ones the last pass looked at and left so many
  std::size_t pending = 0;
  // Jobs and advance reservations that hold or have reserved what the job waits for, soonest over
  // first, and the job in front.
  std::vector<JobId> in_the_way;
  std::vector<Change> changes;  // cheapest first; empty: none was found
  // Without a reservation: the time from which there is room for the job, as planned now and
  // whoever else waits; nullopt: there is none, or there is room already.
  std::optional<Time> room_at{};
  bool has_no_room = false;  // nor will there be any before the end of the resources' lease
  Duration length = 0;  // for so long the scheduler plans it; kTimeMax: to the end of the lease
};

enum class Selection { immediate, backfill, reserved };

struct Start {
  JobId job;
  resource::Allocation allocation;
  Selection selection;
  std::string environment{};  // the parallel environment it runs in; "": none
};
struct Reserve {
  JobId job;
  Time when;
};  // the job is planned to start then (t_estimate)
struct Reject {
  JobId job;
  std::string reason;
};  // it can never run
struct Wait {
  JobId job;
  std::string reason;
};  // not now; sent when the reason changes
struct Preempt {
  JobId job;      // it runs, and is to end ...
  JobId for_job;  // ... so that this one can start
  PreemptMode mode = PreemptMode::cancel;
  Time end = 0;  // when it is ended, unless it has ended before; `now`: at once
};
using Decision = std::variant<Start, Reserve, Reject, Wait, Preempt>;

// The outcome of a request for an advance reservation.
struct ReservedAhead {
  std::optional<Reject> refused;    // with the reason; nothing has changed
  std::vector<Decision> decisions;  // else: of a pass that was made first, as a step() gives them
};

// The cost at which a pass must hand back; the next step() goes on where it stopped.
struct Budget {
  std::int64_t jobs = INT64_MAX;  // that are looked at
  std::int64_t planned_as = 1;    // one for which a place is searched counts as so many
};

struct StepResult {
  std::vector<Decision> decisions;
  bool more = false;         // the budget ran out: call again
  std::optional<Time> wake;  // nothing to do before this time unless an event comes
  bool only_ages = false;    // then, and ever after, only priorities will have changed
};

// The state that the policy of a queue keeps for later, as PolicyHooks::state() has it.
struct PolicyState {
  std::string queue;
  std::string policy;
  std::string state;
  JobId advance{};  // the advance reservation in which the policy decides; 0: outside of all
};

// A failure in a user-written policy of a queue.
struct PolicyTrouble {
  std::string queue;
  std::string policy;
  HookStatus status;
};

// A queue in which a job that is submitted now would not start, whatever it asks for.
struct ClosedQueue {
  std::string name;
  std::string reason;
};

class Scheduler {
 public:
  // The store must outlive the scheduler. Errors: invalid_argument naming the key and what is
  // accepted.
  static Result<Scheduler> create(SchedulerConfig config, resource::ResourceStore& store);
  // create() over any machine (flat_machine.hpp).
  static Result<Scheduler> create(SchedulerConfig config, std::unique_ptr<Machine> machine);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Takes the job into its queue. Returns a reason if the job is refused: it can never run, and
  // nothing is kept. Errors: exists, not_found (queue), denied (the queue is disabled),
  // invalid_argument (a request without sense).
  Result<std::optional<Reject>> submit(JobRequest job, Time now);
  // Restores, after a restart, a job that already runs, with the R it was given.
  Status recover(JobRequest job, const resource::Allocation& allocation);
  // Starts the job on exactly these resources over their time, as if it had been placed there;
  // reservations in the way are made again by the next step(). Errors: those of recover(),
  // overcommitted if a job or an advance reservation is in the way.
  Status start_on(const JobRequest& job, const resource::Allocation& allocation, Time now);
  // From now on the running job holds `lent.rest`, and each of `lent.parts` from its begin on, when
  // the job has it back; both end with the job. What is placed there before is over by then. No
  // parts: nothing is lent. Errors: not_found (it does not run, or runs in an advance reservation),
  // overcommitted (a job is on what is to come back), out_of_range (more than 1,024 parts); it then
  // holds what it has held.
  Status set_lent(JobId job, const LentParts& lent, Time now);
  // Restores, after a restart, that the recovered job is to end by `end` so that `for_job` can
  // start. Errors: not_found.
  Status recover_preemption(JobId job, JobId for_job, Time end, Time now);
  // Ends the job, or its cancelled run: its resources are free from now.
  Status finish(JobId job, Time now);
  // Moves the planned end of a running job, as its limit or the lease of the resources has changed;
  // no end is later than the lease's. Reservations in the way are made again by the next step().
  // Errors: not_found; invalid_argument for an end that is not after its start; overcommitted if an
  // advance reservation is in the way: the job then keeps its end.
  Status set_end(JobId job, Time end, Time now);
  // Sets the time limit of a running job (0: none): its planned end moves as in set_end() and is
  // returned. Errors: those of set_end(), overcommitted also where a node of the job is gone
  // before; nothing has changed then.
  Result<Time> set_limit(JobId job, Duration limit, Time now);
  // Replaces the request of a pending job. The job keeps its place among those of its urgency, with
  // all that it has waited; its reservation is void. Policies hear of a cancel and a submit.
  // Returns and errors as submit(), and not_found (not pending): the job then waits as before.
  Result<std::optional<Reject>> replace(JobRequest job, Time now);
  // Takes a pending job out. Errors: not_found.
  Status cancel(JobId job, Time now);
  // Like cancel(), for a job submitted only to see whether it would be taken: no count shows it.
  Status withdraw(JobId job, Time now);
  // Sets the user's urgency. Errors: not_found, invalid_argument (above 31).
  Status set_urgency(JobId job, std::uint32_t urgency);
  // Overrides the priority that urgency gives a pending job, until the next set_urgency(). Errors:
  // not_found.
  Status set_priority(JobId job, std::int64_t priority);
  // Opens or closes a queue for submission and scheduling, in advance reservations as well; a
  // stopped queue loses its reservations. Errors: not_found.
  Status enable_queue(const std::string& name, bool enabled);
  Status start_queue(const std::string& name, bool started);
  // Gives the queue another policy: a built-in one, or `program`, known as `policy`. The order is
  // made anew; reservations are kept if the policy keeps them, else the next step() makes them
  // anew. Jobs in advance reservations follow. The policy's state goes on if the name is the same.
  // Errors: not_found, invalid_argument; nothing has changed then.
  Status set_policy(const std::string& queue, const std::string& policy,
                    std::shared_ptr<const PolicyProgram> program, Time now);
  // The states that user-written policies keep for later, in advance reservations too: those that
  // have changed since they were last taken.
  std::vector<PolicyState> take_policy_states();
  // The troubles of queues whose policies have had some. Cheap.
  std::vector<PolicyTrouble> policy_troubles() const;
  // The policy state of a queue, changed or not; "": it keeps nothing.
  std::string policy_state(const std::string& queue) const;
  // Restores a policy's state before any job is there; within advance reservation `advance`, if
  // named. Errors: not_found, invalid_argument (the policy has no use for it).
  Status restore_policy_state(const std::string& queue, const std::string& state,
                              JobId advance = {});
  // The starts of waiting jobs if nothing came and all jobs took the whole of their planned time,
  // until `enough`, asked between two passes, says to stop. Changes nothing.
  using Starts = std::map<JobId, Time>;
  Starts forecast(Time now, const std::function<bool()>& enough) const;
  struct Forecast {
    Starts starts;
    HookStatus asked;  // of a policy that a user wrote: how it did
  };
  // forecast() as if the queue had this policy. Errors: those of set_policy.
  Result<Forecast> forecast_with(const std::string& queue, const std::string& policy,
                                 std::shared_ptr<const PolicyProgram> program, Time now,
                                 const std::function<bool()>& enough) const;
  // The waiting jobs that would start now on nodes of `part`, if these were here until `end`, by
  // node name; only jobs that one pass with the budget looks at. Changes nothing. O(V + what is
  // held), and that pass. Errors: those of ResourceStore::grow.
  using StartsByHost = std::map<std::string, std::vector<JobId>>;
  Result<StartsByHost> starts_on(const resource::GraphSpec& part, Time end, Time now,
                                 Budget budget) const;
  // The waiting jobs that would start now, with their hosts, if these jobs were over, whether they
  // run or wait; only jobs that one pass with the budget looks at. Changes nothing. O(V + what is
  // held), and that pass. Errors: not_found (one of these jobs).
  using HostsByJob = std::map<JobId, std::vector<std::string>>;
  Result<HostsByJob> starts_without(const std::vector<JobId>& over, Time now, Budget budget) const;
  // When a job that is not there would start. `planned`: with all that wait before it; nullopt:
  // that is not planned. `room`: else, from when on there is room for it, whoever else waits.
  struct Chance {
    std::optional<Time> planned, room;
  };
  // Changes nothing; a pass with the budget. Errors: those of submit(), and unsatisfiable (never,
  // and why).
  Result<Chance> chance_of(JobRequest job, Time now, Budget budget) const;
  // Notes that resources came, went or changed status or end, or that the horizon moved: blocked
  // jobs are looked at again.
  void resources_changed();

  // Grid Engine's advance reservation: holds resources over an interval for the jobs that name it
  // (JobRequest::advance). It is granted beside running jobs, other advance reservations and kept
  // ones; those that each pass makes anew give way. Its number is unique among jobs too. Its jobs
  // are scheduled as in a machine of their own, without outside limits and pools; a step() tells
  // about them too. Errors: exists, invalid_argument, not_found (its queue, environment).
  Result<ReservedAhead> reserve_ahead(AdvanceRequest request, Time now);
  // Restores, after a restart, a reservation with the R it was given, before recover() of its jobs.
  Status recover_advance(AdvanceRequest request, const resource::Allocation& allocation);
  // The next step() rejects its waiting jobs; its running jobs are returned for the caller to end,
  // and its resources are free when the last has ended. Errors: not_found.
  Result<std::vector<JobId>> cancel_advance(JobId id, Time now);
  // The advance reservations by number, without those that are over and have no jobs.
  std::vector<AdvanceStatus> advances() const;
  // May the user's jobs run in the reservation? False: also if there is none of that number.
  bool may_use_advance(JobId id, const std::string& user) const;

  // The parts of a pending job's place in its queue; for a running job, what its priority would be:
  // nothing depends on it. Errors: not_found.
  Result<PriorityBreakdown> priority(JobId job, Time now) const;
  // If nothing runs, comes or is reserved: when the order of a queue, as priorities age, lets in a
  // job that idle limits or the depth of the queue keep out; nullopt: never. An order that lasts
  // only for a short while may be missed.
  std::optional<Time> next_let_in(Time now) const;
  // The time from which on use counts for fairshare at `now`; nullopt: it plays no part.
  std::optional<Time> counts_use_since(Time now) const;
  // Charges processor-time used before this scheduler was made, for fairshare (a restart). 0
  // processors count as one, as for a running job.
  void charge_past(const JobRequest& job, std::int64_t procs, Interval ran);

  StepResult step(Time now, Budget budget = {});

  std::size_t pending() const;
  std::size_t running() const;
  // The last known reason or planned start of a pending job. Errors: not_found.
  struct Outlook {
    WaitKind kind = WaitKind::untried;
    std::string reason;
    std::optional<Time> planned_start;  // its reservation; nullopt: it holds none
    std::size_t position = 0;           // jobs of its queue that are looked at before it
  };
  Result<Outlook> outlook(JobId job) const;
  // Why the job waits, and what would let it start now. Asks the machine some dozen times. Errors:
  // not_found.
  Result<Explanation> explain(JobId job, Time now) const;
  // The whole plan: running jobs by planned end, then reservations by planned start, including
  // those that jobs are entitled to and no pass had a use for yet.
  std::vector<PlannedSpan> plan(Time now) const;
  // Backfill windows: what could start now without delaying anybody, widest first. None if all
  // queues are closed.
  std::vector<Window> windows(Time now) const;
  // The closed queues by name.
  std::vector<ClosedQueue> closed_queues(Time now) const;
  // All queues by name; jobs in advance reservations are among theirs.
  std::vector<QueueStatus> queues() const;
  const SchedulerConfig& config() const;
  void check_invariants() const;

  struct State;  // state.hpp
  const State& state() const { return *state_; }

 private:
  // The state, for the scheduler that this one runs within.
  friend State& state_of(Scheduler& scheduler) { return *scheduler.state_; }
  explicit Scheduler(std::unique_ptr<State> state);
  // The state to change; earlier answers to questions are void after that.
  State& change();
  // A fork with the plan made whole, on which questions are asked; without `now`: the last such
  // fork, or one at the latest known time.
  Scheduler& asked(Time now) const;
  const Scheduler& asked() const;
  // Errors: not_found. Cheap: no fork.
  Status check_waits(JobId job) const;
  Result<Outlook> outlook_here(JobId job) const;               // of a fork
  Starts play(Time now, const std::function<bool()>& enough);  // of a fork, which is used up
  std::unique_ptr<State> state_;
};

}  // namespace holon::qmanager
