// manager.hpp - the jobs of one instance: every event is journalled, folded into the job's state,
// and followed by what the state asks for. No sockets and no processes: whatever has to happen
// outside is told to an Outside.
//
// The order within a turn: calls below change state and write to the journal (uncommitted); the
// broker commits; only then does it carry out what Outside was told. A crash before the commit
// leaves nothing, one after it is a replay. Not thread-safe: one owner.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/config.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/pulse.hpp"
#include "instance/job/active_job.hpp"
#include "instance/job/array.hpp"
#include "instance/job/job.hpp"
#include "instance/job/job_counts.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/beginning.hpp"
#include "instance/manager/graph_intake.hpp"
#include "instance/manager/queue_gates.hpp"
#include "instance/request/nodes_of_agents.hpp"
#include "instance/request/submission.hpp"
#include "msg/array.hpp"
#include "msg/instance.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/allocation.hpp"

namespace holon::instance {

// How many tasks the job has; for a range of slots this is known once it is allocated.
std::int64_t tasks_of(const ActiveJob& job);
std::int64_t tasks_of(const Submission& what, std::int64_t cores);  // with so many cores allocated

// Is told what the manager has done to a job. Calls come in the middle of a change: note them down
// and act after the commit.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual void start_tasks(const ActiveJob& job) = 0;
  // The job's tasks may run and must not. May be told again.
  virtual void kill_tasks(const ActiveJob& job) = 0;
  virtual void happened(JobId job, const Event& event) = 0;
  // The job's record, as listings show it, has changed; the last call for a job has state INACTIVE.
  virtual void changed(const ActiveJob& job) = 0;
  virtual void ended(const msg::JobRecord& record) = 0;
  // Tasks first .. last of an array are over, to which nothing had happened before; `events` are
  // their last ones.
  virtual void ended_unstarted(JobId first, JobId last, const std::vector<Event>& events) = 0;
  // Only the job's end is left to be written down. False: what the job leaves behind is not settled
  // yet; go_on() is called when it is.
  virtual bool may_end(const ActiveJob& job) = 0;
  // No task of the job runs any more; next it is INACTIVE or waits to run again. The job's parts
  // are still those of its run.
  virtual void run_is_over(const ActiveJob& job) = 0;
  // Another job takes this one's place; a job that asked for a signal is to get it.
  virtual void preempted(const ActiveJob& job) = 0;
  // The `life.expiration` of a job that holds resources, or the end of its allocation, has changed.
  virtual void limit_changed(const ActiveJob& job) = 0;
};

// Where a job's output goes: as asked for, else below `directory`; and the file it reads, if any.
// "{{id}}" in a name is the job's id, "{{name}}" its name with '_' for '/'; for a task of an array
// also "{{array.index}}", "{{entry}}" and "{{entry.FIELD}}". Names with a task's own fields:
// launch::file_of_task.
struct OutputFiles {
  std::string output, error;  // error "": the same file
  std::string input;          // "": none
};
OutputFiles output_files(const ActiveJob& job, const std::string& directory);

// The record of a job of the instance `path`, without what only its scheduler can say.
msg::JobRecord record_of_job(const ActiveJob& job, const std::string& path,
                             const std::string& output_directory, const InstanceClock& clock);
// The event with its times by the wall clock.
Event as_shown(Event event, const InstanceClock& clock);

// The file for the part at this place among a job's parts, where the tasks of a part share one:
// each agent writes a regular file of its own; the parts share what is no regular file.
std::string file_of_part(const std::string& file, std::size_t place);

// How the tasks of a part ended, as their agent reports it.
struct TasksEnded {
  std::string reason;  // exit, timeout, killed, exec, abort, orphaned, lost
  std::string what;    // exec, lost: in words
  event::Finish finish;
  Time when = 0;
};

class JobManager {
 public:
  // All arguments but the texts must outlive the manager. `path` is the instance's: "/", "/3".
  JobManager(Journal& journal, const InstanceClock& clock, qmanager::Scheduler& scheduler,
             const QueueGates& gates, const resource::ResourceStore& store,
             const NodesOfAgents& nodes_of_agents, Outside& outside, const config::Config& config,
             std::string path, std::string output_directory);
  ~JobManager();
  JobManager(const JobManager&) = delete;
  JobManager& operator=(const JobManager&) = delete;

  // Rebuilds all active jobs from the journal and continues each: pending jobs are queued again,
  // running ones hold their resources again; whether their tasks still run is for the agents to
  // say. O(events since the oldest active batch was submitted). After a fresh beginning jobs that
  // ran have failed. A suspect that waits is set aside: held, with that as its reason, and unknown
  // to the scheduler until somebody gives it another urgency. A suspect that runs and cannot be
  // restored is over.
  Status recover(const Beginning& beginning, Time now);
  // After recover(): processes that may be left of jobs that ran and are over, by the rank of their
  // agent.
  using Orphans = std::map<std::uint32_t, std::vector<event::Process>>;
  const Orphans& orphans() const { return orphans_; }

  // Errors: invalid_argument, unsupported, not_found (queue), unsatisfiable with the reason: the
  // job can never run here (the refusal keeps a record); exists (another submission had this key).
  // More jobs than are taken in one turn are journalled at once, and taken by take_more().
  Result<msg::SubmitReply> submit(const msg::SubmitRequest& request, Time now);
  // Likewise for a grant (SchedulingOptions::grant_to), which nobody else may submit.
  Result<msg::SubmitReply> submit_grant(const msg::SubmitRequest& request, Time now);
  // Makes a job that runs nothing (SchedulingOptions::lends) and has exactly these resources, at
  // once. Errors: invalid_argument, overcommitted (a job is on them).
  Result<JobId> lend(const msg::SubmitRequest& request, resource::Allocation what, Time now);
  // It has no more than this of them now.
  void lends_less(JobId id, resource::Allocation rest, Time now);
  // What a child has lent, as the book of grants says.
  std::function<std::vector<Lent>(JobId child)> lent_by = [](JobId) { return std::vector<Lent>(); };
  // Jobs are placed on what the child has lent, and nowhere else of it. Errors: those of
  // Scheduler::set_lent().
  Status set_lent(JobId child, const std::vector<Lent>& lent, Time now);
  // When such a grant would start. Nothing is kept. Errors: invalid_argument, unsatisfiable.
  Result<qmanager::Scheduler::Chance> chance_of_grant(const msg::SubmitRequest& request,
                                                      Time now) const;
  // Tasks that wait for each other are taken all or none, in portions: read_graph() until it
  // returns false, take_graph() in the same turn, enter_graph() until it returns false; take_more()
  // then makes the jobs of each next_intake(). What take_graph() took outlives the broker, and
  // nothing before. `packed`: the request. Errors: as of submit(), with the place in the request.
  // O(tasks).
  Result<bool> read_graph(ReadingGraph& graph, Time now);
  Result<msg::GraphReply> take_graph(ReadingGraph& graph, const std::string& packed, Time now);
  bool enter_graph(JobId first, Time now);
  bool all_entered() const { return entering_.empty(); }  // of all graphs
  // The first id of the next submission whose jobs are not all made; nullopt: there is none.
  std::optional<JobId> next_intake() const;
  // Makes some more jobs of the submission that begins with `first`; false: all are made.
  bool take_more(JobId first, Time now);
  bool all_taken(JobId first) const { return !intakes_.contains(first); }
  bool all_taken() const { return intakes_.empty(); }  // of all submissions
  // Makes all jobs that were submitted.
  void take_all(Time now);

  // Runs one pass of the scheduler if anything changed.
  void schedule(Time now);
  // Has schedule() nothing to do now?
  bool settled() const { return !dirty_ && !paused_; }
  // Carries out what the scheduler has decided.
  void carry_out(const std::vector<qmanager::Decision>& decisions, Time now);
  // The whole plan.
  std::vector<qmanager::PlannedSpan> plan(Time now) const { return scheduler_.plan(now); }
  // When to call schedule() again at the latest; nullopt: on the next event.
  std::optional<Time> next_turn(Time now) const;
  // Errors: not_found, denied (the job has started or is over), invalid_argument (above 31).
  Status set_urgency(JobId id, std::uint32_t urgency, Time now);
  // Changes what jobs ask for, as docs/protocol.md says of `job.update`; all jobs or none. Errors:
  // not_found, denied (a job is over, or has started and more than its limit is to change),
  // invalid_argument, unsatisfiable (a job could then never run, or not end in time).
  Status update(const msg::UpdateRequest& ask, Time now);
  // Stops the tasks of running jobs, or continues them; all jobs or none. Errors: not_found, denied
  // (not all tasks of a job run, or it is an instance).
  Status suspend(const std::vector<std::uint64_t>& ids, bool suspend, Time now);
  bool is_aside(JobId id) const { return aside_.contains(id); }
  // The journal cannot be written, so nothing is started: `why` is the reason of all jobs that
  // wait.
  void read_only(std::string why) { why_read_only_ = std::move(why); }
  // Why nobody knows whether a running job still runs; "": it does.
  std::function<std::string(const ActiveJob&)> doubt = [](const ActiveJob&) { return ""; };
  // Why a job whose run is over has not ended yet; "": no reason is known.
  std::function<std::string(const ActiveJob&)> end_waits_for = [](const ActiveJob&) { return ""; };
  bool grows = false;  // nodes may come that are not here yet
  // How more resources are on their way for a job that waits for them; "": they are not.
  std::function<std::string(JobId)> help_for = [](JobId) { return ""; };
  // A user's groups as the system's databases have them, the primary one first. Null: all jobs
  // belong to one user, who may name any group.
  std::function<const std::vector<std::string>&(const std::string& user)> groups_of;
  const PassTimes& pass_times() const { return passes_; }
  // For good: the instance ends. `keeps_queue`: there is a next start, and what failed with this
  // instance may run again there.
  void pause_scheduling(bool keeps_queue) {
    paused_ = true;
    keeps_queue_ = keeps_queue;
  }
  void resources_changed();
  // The scheduler's state was changed: the next turn makes a pass.
  void look_again() { dirty_ = true; }
  bool is_paused() const { return paused_; }
  // The command that gives this instance so much more time, to be typed anywhere in the tree:
  // "holon update /3 -t +26m", in whole minutes. Empty: no command does.
  std::string way_to_more_time(Duration missing) const;
  // What moves the end of this instance, as the one above has told it; and that of a child.
  const EndMover& end_mover() const { return end_mover_; }
  void set_end_mover(EndMover mover) { end_mover_ = std::move(mover); }
  EndMover end_mover_of(const ActiveJob& child) const;
  // The instance ends at the store's horizon instead of `old_end`: limits beyond it are cut, open
  // ones follow it.
  void lease_changed(Time old_end, Time now);
  // The wall clock was set; the begin times of waiting jobs follow it.
  void wall_clock_was_set();

  // Raises a fatal exception: cancel, timeout, dependency, node-failure, instance. Unknown and
  // ended jobs are ignored.
  void raise(JobId id, const std::string& type, const std::string& note, Time now);
  // Reports about the part that the agent of this rank runs. Unknown jobs and parts are ignored,
  // and so are repeated reports.
  void tasks_started(JobId id, std::uint32_t rank, const std::vector<event::Process>& processes,
                     Time when);
  void tasks_ended(JobId id, std::uint32_t rank, const TasksEnded& how, Time now);
  // The tasks of this part of a job that is to be killed were never started and never will be.
  void never_started(JobId id, std::uint32_t rank, Time now);
  void child_is_up(JobId id, const std::string& uri, Time now);
  // The child has taken the grant; and no process of it is left on what the grant holds. `why`: it
  // ends because of that, before anybody wanted it to.
  void grant_begins(JobId grant, Time now);
  void grant_ends(JobId grant, const std::string& why, Time now);
  // What has become of a child's grants, among the events of its job. Unknown jobs are ignored.
  void note_grant(JobId child, EventBody what, Time now);
  // The grants that are not over, by their children.
  const std::map<JobId, std::set<JobId>>& grants() const { return grants_; }
  // The jobs that hold what is lent to the instance above (SchedulingOptions::lends).
  const std::set<JobId>& lending() const { return lending_; }
  // The job's end need not wait any more (Outside::may_end).
  void go_on(JobId id, Time now) { advance(id, now); }

  // Adds tasks to an open array; or none, and closes it. Errors: not_found, invalid_argument (it is
  // no array; indices or entries do not fit), denied (it is closed, or over), out_of_range.
  Result<msg::ExtendReply> extend_array(const msg::ExtendRequest& request, Time now);

  // The job as the scheduler is told of it.
  qmanager::JobRequest request_of(const ActiveJob& job) const;
  // next_id(): the number of the next job. skip_ids(): no job gets a number up to `last`.
  JobId next_id() const { return next_id_; }
  void skip_ids(JobId last);
  // The active jobs that a job in DEPEND waits for.
  std::vector<JobId> waits_on(const ActiveJob& job) const;

  // Numbers named by a request that belong together.
  struct NumberRun {
    Idset numbers;
    JobId last;      // last number of the array, or the last of these jobs
    JobId array{0};  // all are tasks of this array; 0: jobs, of which one alone need not exist
    bool is_over = false;  // the array is
  };
  // O(ranges and arrays, and numbers that are no tasks). Errors: out_of_range (too many numbers
  // that are neither tasks nor active).
  Result<std::vector<NumberRun>> runs_of(const Idset& numbers) const;
  // Those of these tasks of the array that the scheduler has not been given.
  Idset held_of(JobId array, const Idset& tasks) const;
  // Cancels those of these tasks that are still held back. O(ranges, with the array's own).
  void cancel_held(JobId array, const Idset& these, const std::string& note, Time now);

  const ActiveJob* find(JobId id) const;
  // ms from the start of a running job's tasks until its agents end them, at least 1; 0: it has no
  // limit.
  Duration time_limit_of(const ActiveJob& job) const;
  // Is a job, or a task of an array, not over? Not every waiting task of an array is in active().
  bool is_active(JobId id) const;
  // The task behind `after`, which is an array or a task of one; 0: there is none. `all`: tasks
  // that are over, too.
  JobId next_task(JobId after, bool all) const;
  // The records of the tasks behind `after`, an array or a task of one; many equal tasks share one
  // record. `all`: tasks that are over, too, at most `limit` records of them at a time; tasks that
  // are not over come with the first call. What only the scheduler could say is left out.
  struct TaskRecords {
    std::vector<std::pair<msg::JobRecord, std::uint64_t>> records;  // with how many each is for
    JobId last{0};  // the last task covered; 0: `after` belongs to no array
    bool more = false;
  };
  Result<TaskRecords> task_records(JobId after, bool all, std::size_t limit) const;
  // Tasks of arrays, by queue, that the scheduler has not been given: how many wait, and how many
  // have been cancelled since this broker began.
  struct HeldBack {
    std::int64_t waiting = 0, cancelled = 0;
  };
  std::map<std::string, HeldBack> held_back() const;
  // The first active array behind `after`; 0: there is none.
  JobId next_array(JobId after) const {
    const auto next = arrays_.upper_bound(after);
    return next == arrays_.end() ? JobId(0) : next->first;
  }
  // The job the scheduler knows: for an array that waits, its first task in the queue.
  const ActiveJob& representative_task(const ActiveJob& job) const;
  // The shape of an array, active or over. Errors: not_found (no such job), invalid_argument (it is
  // no array).
  Result<ArrayShape> shape_of_array(JobId id) const;
  // Those of the `count` numbers from `first` on whose tasks ended with one of these results, or by
  // one of these exceptions: "FAILED,TIMEOUT,others-failed". A row of many tasks is returned whole.
  Result<Idset> tasks_with_result(JobId first, std::uint64_t count,
                                  const std::string& results) const;
  // The active array that `job` is, or is a task of; nullptr: there is none.
  const JobArray* array_with(JobId job) const;
  const std::map<JobId, ActiveJob>& active() const { return jobs_; }
  // The active jobs that have an allocation: few beside those that wait.
  const std::set<JobId>& holding() const { return holding_; }
  // The record of an active or inactive job. Errors: not_found.
  Result<msg::JobRecord> record(JobId id) const;
  // The user of a job, active or over; "": there is no such job.
  std::string user_of(JobId id) const;
  // False, too, for an advance reservation that no longer exists.
  bool may_use_reservation(JobId reservation, const std::string& user) const {
    return scheduler_.may_use_advance(reservation, user);
  }
  msg::JobRecord record_of(const ActiveJob& job) const;
  // The event with times by the wall clock, as in records.
  Event as_shown(Event event) const { return instance::as_shown(std::move(event), clock_); }
  const InstanceClock& clock() const { return clock_; }
  std::string path_of(JobId id) const;
  // The name of a job that people type and are told: "3", for a task of an array "1.2"; and the
  // same within the tree, "/2/1.2". A number that is no job's is its own name. For a job that is
  // over O(log) in the journal.
  std::string label_of(JobId id) const;
  std::string shown_path(JobId id) const;
  // How many agents run, or ran, tasks of the job. O(its events).
  std::size_t parts_of(JobId id) const;
  OutputFiles files_of(const ActiveJob& job) const { return output_files(job, output_directory_); }

  struct Counts {
    std::int64_t pending = 0, running = 0, inactive = 0,
                 failed = 0,  // inactive and not COMPLETED, cancelled ones included
        cancelled = 0;        // of these
  };
  Counts counts() const;
  // Jobs by kind, user and queue (job/job_counts.hpp).
  const JobCounts& kept_counts() const { return counts_; }
  // Counts some more jobs that are over by their users and queues; false: all are counted, or it
  // cannot be done now.
  bool count_some_ended();
  // The journal has forgotten these inactive jobs.
  void forgotten(const Forgotten& gone);

 private:
  ActiveJob* find_mutable(JobId id);
  Result<ActiveJob*> find_active(JobId id);
  void post(ActiveJob& job, EventBody body, Time when);
  void advance(JobId id, Time now);
  void free(ActiveJob& job, Time now);
  void end_part(ActiveJob& job, const event::RankFinish& end, Time when, Time now);
  std::vector<std::uint32_t> ranks_for(const Submission& what, const std::vector<PlacedNode>& nodes,
                                       std::int64_t cores) const;
  void end(ActiveJob& job, Time now);
  void apply_decision(const qmanager::Decision& decision, Time now);
  void start(const qmanager::Start& decision, Time now);
  void preempt(const qmanager::Preempt& decision, Time now);
  void end_preempted(Time now);
  void note_given_place(ActiveJob& job, Time when);
  Status restore_preemption(const ActiveJob& job, Time now);
  static Standing standing_of_retry(const ActiveJob& job, Time now);
  static bool waits_for_others(const ActiveJob& job);
  Status check_dependencies(const Submission& submission) const;
  TargetState state_of_target(JobId id, bool whole = true) const;
  bool is_known(JobId id) const;  // active, or on record
  // Dependencies on tasks of an array (array/manager_task_dependencies.cpp).
  Result<Idset> tasks_named(const Dependency& dependency) const;
  JobId next_awaited(const Dependency& dependency) const;
  JobId next_awaited(const Dependency& dependency, const Idset& numbers) const;
  Standing standing_of_tasks(const Dependency& dependency, Time now) const;
  // label_of() as base/text/job_words.hpp takes it.
  JobText job_text() const;
  std::string note_of_preemption(const Lifecycle& life) const;
  const ActiveJob* namesake_before(const ActiveJob& job) const;
  Standing standing_of(const ActiveJob& job, const Dependency& dependency, Time now) const;
  Standing standing_of(const ActiveJob& job, Time now) const;
  void keep_waiting(const ActiveJob& job);
  // Looks at some jobs whose dependencies may be settled; true: there are more.
  bool settle_dependencies(Time now);
  void let_go(ActiveJob& job, Time now);
  bool runs_again(const ActiveJob& job) const;
  void requeue(ActiveJob& job, Time now);
  Time lease_end() const;
  Duration default_limit(Time now) const;
  std::string too_late(const Submission& submission, Time now) const;
  std::string more_time(Duration missing) const;
  void move_end(ActiveJob& job, Time plan, Time now);
  void child_end_moved(const ActiveJob& child, Time old_end, Time now);
  Status has_own_limit(const ActiveJob& job, Duration extend, Time now) const;
  Time end_by_limit(const Submission& what, Time t_alloc) const;
  Time end_around(const Submission& what) const;
  Time end_of(const ActiveJob& job, Time t_alloc) const;
  std::string limit_note(const ActiveJob& job) const;
  Status load(const std::vector<Batch>& batches, const Beginning& beginning, Time now);
  void record_lost(Time now);
  Status close_torn(const std::set<JobId>& torn, Time now);
  Error condemn(JobId id, const Error& why);
  Status restore_allocation(ActiveJob& job, Time now);
  Status restore_aside();
  void set_aside(JobId id, Time now);
  void let_back(JobId id);
  // A job whose request is to change.
  struct Change {
    ActiveJob* job = nullptr;
    event::JobspecUpdate update;
    std::shared_ptr<const Submission> submission;  // the changed one
    Time planned_end = 0;                          // of a running job, once the new limit is taken
  };
  // Changed submissions, by the present ones.
  using Remade = std::map<const Submission*, std::shared_ptr<const Submission>>;
  Result<std::shared_ptr<const Submission>> remade(const ActiveJob& job,
                                                   const event::JobspecUpdate& update);
  Status may_change(const ActiveJob& job, const msg::UpdateRequest& ask) const;
  Status fits_in_time(const ActiveJob& job, const Submission& submission, Time now) const;
  Result<Change> planned_change(JobId id, const msg::UpdateRequest& ask, Remade& known, Time now);
  Status take_change(Change& change, Time now);
  void take_back(const Change& change, Time now);
  void write_change(const Change& change, Time now);
  Status may_suspend(const ActiveJob& job) const;
  void restore_default_limits();
  Status restore_updates();
  void change_urgency(ActiveJob& job, std::uint32_t urgency, Time now);
  Status charge_past_use(Time now);
  std::vector<JobId> active_ids() const;
  Status take_up_running(const Beginning& beginning, Time now);
  void lose(ActiveJob& job, const TasksEnded& how, Time now);
  void lose_interrupted(ActiveJob& job, Time now);
  void lose_suspect(ActiveJob& job, Time now);
  Status lose_unreadable(ActiveJob& job, const Error& why, Time now);
  void enqueue_recovered(ActiveJob& job, Time now);
  void enqueue(ActiveJob& job, Time now);
  void add_outlook(const ActiveJob& job, msg::JobRecord& record) const;
  void add_grants(const ActiveJob& job, msg::JobRecord& record) const;
  void add_lent(const ActiveJob& job, msg::JobRecord& record) const;
  void count_what_is_lent(const ActiveJob& job, msg::JobRecord& record) const;
  qmanager::LentParts parts_of(const resource::Allocation& all,
                               const std::vector<Lent>& lent) const;
  void add_wait(const ActiveJob& job, msg::JobRecord& record) const;
  Result<std::optional<SubmitKey>> known_submission(const std::string& key) const;
  Result<std::optional<msg::SubmitReply>> submitted_before(const msg::SubmitRequest& request) const;
  Status check_request(const Submission& submission, std::uint64_t count, const std::string& user,
                       bool is_grant = false) const;
  Result<msg::SubmitReply> submit_any(const msg::SubmitRequest& request, bool is_grant, Time now);
  void give(ActiveJob& job, const qmanager::Start& decision, Time now);
  void know_grant(const ActiveJob& job);
  void forget_grant(const ActiveJob& job);
  Status check_group(const Submission& submission, const std::string& user) const;
  // The group that the job counts for: the one asked for, else the user's primary one.
  std::string group_of(const Submission& submission, const std::string& user) const;
  msg::SubmitReply accept(const std::shared_ptr<const Submission>& submission,
                          const msg::SubmitRequest& request, Time now);
  Error not_taken(const Submission& submission, Error error) const;
  Error refuse(Submission submission, const msg::SubmitRequest& request, const std::string& reason,
               Time now);
  // Keeping count (manager_counts.cpp).
  const std::string& queue_of(const Submission& submission) const;
  JobCounts::Owner owner_of(const ActiveJob& job) const;
  JobKind held_kind(const JobArray& array) const;
  void count(const ActiveJob& job, JobKind from);
  void count_one(const ActiveJob& job, std::int64_t n);
  void count_held_back(const JobArray& array, JobKind kind, std::int64_t n);
  msg::JobRecord bare_record(const ActiveJob& job) const;
  void add_active_tasks(const JobArray& array, TaskRecords& tasks) const;
  Status count_ended_row(const EndedRow& row);
  void count_recovered();
  // Arrays (array/manager_arrays.cpp).
  JobArray* array_with(JobId job);
  std::uint64_t window_of(const JobArray& array) const;
  bool may_queue(const JobArray& array) const;
  static bool has_room(const JobArray& array);
  void feed_arrays(Time now);
  void look_for_hungry_arrays();
  void take_task(JobArray& array, JobId id, Time now);
  void count_task(const ActiveJob& job, bool was_queued);
  msg::SubmitReply accept_array(const std::shared_ptr<const Submission>& submission,
                                const msg::SubmitRequest& request, Time now);
  void end_task(ActiveJob& job, Time now);
  // Open arrays (array/manager_open.cpp).
  Result<JobArray*> open_array(JobId id);
  Result<std::optional<msg::ExtendReply>> extended_before(const msg::ExtendRequest& request) const;
  Status add_tasks(JobArray& array, const msg::ExtendRequest& request, Time now);
  // aftercorr (array/manager_counterparts.cpp).
  struct EndedRange {
    JobId array, first, last;
    bool completed = false;
  };
  void settle_ended(const EndedRange& ended, JobId waiter, Time now);
  Status check_counterparts(const Submission& submission, const Dependency& dependency,
                            std::size_t place) const;
  void block_tasks(JobArray& array);
  void tell_counterparts(JobId array, JobId first, JobId last, const std::string& result);
  void settle_counterparts(Time now);
  void unblock(JobArray& array, Time now);
  void let_in(JobArray& array, JobId first, JobId last);
  std::string wait_of_blocked(const JobArray& array, JobId task) const;
  void stop_failing(const JobArray& array, Time now);
  void end_waiting(JobArray& array, const Idset& these, const event::Exception& why, Time now);
  void end_waiting(JobArray& array, JobId first, JobId last, const event::Exception& why, Time now);
  void end_range(JobArray& array, JobId first, JobId last, const Lifecycle& life,
                 const std::vector<Event>& events);
  void settle_array(JobId id, Time now);
  void begin_array(const ActiveJob& task, Time now);
  void raise_array(ActiveJob& job, const event::Exception& why, Time now);
  void set_urgency_of_array(ActiveJob& job, std::uint32_t urgency, Time now);
  void add_tasks(const ActiveJob& job, msg::JobRecord& record) const;
  Result<msg::JobRecord> record_of_task(const JobArray& array, JobId id) const;
  Result<msg::JobRecord> record_of_ended_task(JobId id) const;
  Result<std::shared_ptr<const ActiveJob>> over_array(JobId task) const;
  Result<NumberRun> run_at(JobId at) const;  // all numbers of the array or job of `at`
  void give_up_task(const ActiveJob& job, const std::string& why, Time now);
  Status charge_past_arrays(Time since);
  Status charge_past_tasks(const ActiveJob& array, Time since);
  Status restore_array(JobArray& array, std::set<JobId>& torn);

  // Jobs that were submitted together and are not all in jobs_ yet.
  struct Intake {
    std::shared_ptr<const Submission> submission;
    Lifecycle life;             // of each job ...
    std::vector<Event> events;  // ... after these
    std::uint64_t taken = 0;
    std::vector<TaskWords> words;  // of each job; empty: no job has any
  };
  Intake& begin_intake(Intake intake, std::vector<EventBody> bodies, Time now);
  ActiveJob& take_in(Intake& intake);
  // Graphs (manager_graph.cpp).
  bool is_in_intake(JobId id) const;
  Result<Submission> graph_submission(const std::string& jobspec, const msg::GraphSpec& asked,
                                      const std::string& user, Time now) const;
  Status ask_about(const GraphPlan& plan, std::size_t place, const TaskWords& words, Time now);
  JobId asked_as(const GraphPlan& plan, std::size_t place) const;
  void withdraw(JobId asked, Time now);
  Status take_way(GraphPlan& plan, std::size_t place, Time now);
  Status choose_way(GraphPlan& plan, std::size_t place, Time now);
  Result<std::size_t> take_first(GraphPlan& plan, Time now);
  Status check_jobs(const GraphPlan& plan) const;
  Status begin_reading(ReadingGraph& graph) const;
  void enter_some(EnteringGraph& graph, std::size_t stop, Time now);
  std::size_t accept_run(GraphPlan& plan, std::size_t begin, std::size_t stop, bool are_known,
                         Time now);
  void accept_alone(const GraphPlan& plan, std::size_t place, Time now);
  Status restore_graphs(const Beginning& beginning, Time now);
  Status restore_graph(const KeptGraph& kept, const Beginning& beginning, Time now);
  void give_up_graph(const KeptGraph& kept, JobId next, const Beginning& beginning, Time now);
  Journal& journal_;
  static constexpr std::uint16_t kFirstPass = 256;  // jobs

  const InstanceClock& clock_;
  qmanager::Scheduler& scheduler_;
  const QueueGates& gates_;
  const resource::ResourceStore& store_;
  const NodesOfAgents& nodes_of_agents_;
  Outside& outside_;
  const config::Config& config_;
  std::string path_;
  EndMover end_mover_;
  std::string output_directory_;
  std::map<JobId, ActiveJob> jobs_;
  std::set<JobId> holding_;
  std::map<JobId, std::set<JobId>> grants_;
  std::set<JobId> lending_;
  std::map<JobId, Intake> intakes_;          // by the first job of each
  std::map<JobId, EnteringGraph> entering_;  // by the first number of each
  std::map<JobId, JobArray> arrays_;
  std::map<std::string, std::int64_t> cancelled_unheard_;  // by queue, see held_back()
  std::set<JobId> hungry_;  // arrays of which the scheduler may be given more tasks
  std::multimap<JobId, JobId> counterparts_;  // arrays, and those whose tasks wait for their tasks
  std::vector<EndedRange> ended_since_;       // tasks of the former that ended since the last turn
  std::set<JobId> to_unblock_;                // of the latter, those not looked at yet
  mutable std::shared_ptr<const ActiveJob> last_over_;  // see over_array(); or jobs of no array
  JobId next_id_{1};
  JobCounts counts_;
  bool dirty_ = false;  // the scheduler has something to look at
  bool paused_ = false;
  bool keeps_queue_ = false;           // once it is paused
  bool recovering_ = false;            // the scheduler has not been told of pending jobs yet
  std::uint8_t passes_left_out_ = 0;   // in a row, while dependencies are settled
  std::uint16_t budget_ = kFirstPass;  // of the next pass
  PassTimes passes_;
  WaitingRoom waiting_;
  // Which dependencies are met, of jobs that have many.
  mutable std::map<JobId, std::vector<bool>> met_;
  std::set<JobId> aside_;       // pending jobs, see recover()
  std::string why_read_only_;   // "": the journal can be written
  std::set<JobId> unheard_of_;  // jobs of aside_ that the scheduler has not been told of
  std::optional<Time> wake_;
  std::set<std::pair<Time, JobId>> preempted_;  // jobs to give place, by when they are ended
  Orphans orphans_;
  Time last_heard_ = 0;  // when the broker before this one last wrote an event or its clock
};

}  // namespace holon::instance
