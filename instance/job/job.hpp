// job.hpp - the life of a job as a pure state machine (states of RFC 21, events of RFC 18).
//
//   NEW -validate-> DEPEND -depend-> PRIORITY -priority-> SCHED -alloc-> RUN -finish-> CLEANUP
//   -clean-> INACTIVE
//
// A job has a part for each agent that runs tasks of it: it has started when the first part has,
// and finished when all have. In a child instance the part of the lowest rank, where the broker is,
// leads the others, which are its agents: they are ended when that part is over, and how they end
// says nothing about the job.
//
// A job that may run again (--requeue) goes from CLEANUP back to DEPEND once it holds nothing any
// more (`requeue`), as often as it may.
//
// A job whose place another job takes (`preempt`) runs on until it ends or is ended for that; then
// it goes back to DEPEND likewise, or is over.
//
// The request may be changed later (`jobspec-update`), and a running job may be stopped for a while
// (`suspend`, `resume`), which changes neither its state nor what it holds.
//
// An array is one job (array.hpp): its own life is SCHED until its first task has resources
// (`array-start`), and over with its last task (`array-finish`). Each task has a life of its own,
// as a job has.
//
// A grant is a job without parts: it holds what a child instance has got beyond its own job. It has
// started when the child has taken it, and finished when no process of the child is left there. The
// child's agents on whole nodes of it are parts of the child's job, from `grant-extend` to
// `grant-return`.
//
// A severity-0 exception takes any active job to CLEANUP; `invalidate` takes a NEW one to INACTIVE.
// A job's state is the fold of `apply` over its events and nothing else: replaying the journal
// rebuilds it. What has to be done next follows from the state alone (`next_step`), so that acting
// twice, or again after a restart, is harmless. No I/O, no clock: everything here is a value.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::instance {

enum class JobState : std::uint8_t { created, depend, priority, sched, run, cleanup, inactive };

// "NEW", "DEPEND", ...
const char* name_of(JobState state);
// Has it still to be started?
inline bool is_pending(JobState state) {
  return state <= JobState::sched;
}

namespace event {

struct Submit {
  std::uint32_t urgency = 16;
  std::string user;
  // ms: the limit that the job was given since it asked for none (job.default-limit); 0: none.
  Duration default_limit = 0;
  bool operator==(const Submit&) const = default;
};
struct Validate {
  bool operator==(const Validate&) const = default;
};
struct Invalidate {
  std::string reason;
  bool operator==(const Invalidate&) const = default;
};
struct Depend {
  bool operator==(const Depend&) const = default;
};
struct Priority {
  std::uint64_t priority = 16;
  bool operator==(const Priority&) const = default;
};
struct Urgency {
  std::uint32_t urgency = 16;
  bool operator==(const Urgency&) const = default;
};
// Where a job is, for people: its R is kept elsewhere and means nothing once the resources changed.
struct Place {
  std::string nodelist;  // hostlist
  std::int64_t nodes = 0, cores = 0, gpus = 0;
  bool operator==(const Place&) const = default;
};
struct Alloc {
  std::string selection;        // immediate, backfill, reserved
  std::int64_t expiration = 0;  // when the job is ended; 0: never
  Place place = {};
  std::string environment = {};            // the parallel environment it runs in; "": none
  std::vector<std::uint32_t> ranks = {0};  // agents that run its tasks, ascending
  bool leads = false;                      // the first part leads the others
  bool operator==(const Alloc&) const = default;
};
// A process that cannot be mistaken for a later one with the same number.
struct Process {
  std::int64_t pid = 0;
  std::uint64_t start = 0;  // field 22 of /proc/PID/stat; 0: unknown
  bool operator==(const Process&) const = default;
};
struct ResourceUpdate {
  std::int64_t expiration = 0;  // the new one, as in Alloc
  bool operator==(const ResourceUpdate&) const = default;
};
// The job's first part runs; each other part has a RankStart.
struct Start {
  std::vector<Process> processes;  // the tasks of the first part, in their order
  std::uint32_t rank = 0;          // of the first part
  bool operator==(const Start&) const = default;
};
struct RankStart {
  std::vector<Process> processes;
  std::uint32_t rank = 0;
  bool operator==(const RankStart&) const = default;
};
// The broker of a child instance says hello; the job is that instance.
struct Instance {
  std::string uri;
  bool operator==(const Instance&) const = default;
};
struct Exception {
  // cancel, others-failed, timeout, exec, abort, node-failure, alloc, instance, dependency,
  // preempt, max-fails
  std::string type;
  int severity = 0;  // 0 is fatal, 7 a remark
  std::string note;  // a sentence for the user
  bool operator==(const Exception&) const = default;
};
struct Finish {
  int status = 0;  // as from wait(2), the worst of the tasks
  std::int64_t cpu_ms = 0;
  std::int64_t max_rss_kb = 0;
  bool operator==(const Finish&) const = default;
};
// One part of several is over; the last of them is followed by the job's own Finish.
struct RankFinish {
  std::uint32_t rank = 0;
  std::string reason;  // as in TasksEnded; "never": no task of the part was or will be started
  Finish how = {};
  bool operator==(const RankFinish&) const = default;
};
struct Release {
  bool operator==(const Release&) const = default;
};
struct Free {
  bool operator==(const Free&) const = default;
};
struct Clean {
  bool operator==(const Clean&) const = default;
};
// For the event log only: a job's dependencies follow from its jobspec.
struct DependencyAdd {
  std::string description;
  bool operator==(const DependencyAdd&) const = default;
};
struct DependencyRemove {
  std::string description;
  bool operator==(const DependencyRemove&) const = default;
};
// Somebody has changed the job's request. Empty fields: unchanged.
struct JobspecUpdate {
  std::optional<Duration> limit;  // 0: none
  std::optional<std::string> name, queue;
  std::optional<std::int64_t> nodes, slots;
  std::optional<std::int64_t> elastic;  // msg::UpdateRequest
  bool operator==(const JobspecUpdate&) const = default;
};
// The job's tasks are stopped (Suspend) or continued (Resume).
struct Suspend {
  bool operator==(const Suspend&) const = default;
};
struct Resume {
  bool operator==(const Resume&) const = default;
};
// The job has failed and runs again: it waits in DEPEND until `begin`.
struct Requeue {
  std::uint32_t retry = 1;  // the attempt to come, counted from 1 behind the first one
  Time begin = 0;
  std::string note;        // how the attempt before it ended, for the user
  bool preempted = false;  // another job took its place: this attempt counts for no --requeue
  bool operator==(const Requeue&) const = default;
};
// A running job is to end because another job takes its place.
struct Preempt {
  std::uint64_t by = 0;  // the job that takes the place
  bool requeue = false;  // the job runs again; else it is over
  Time end = 0;          // when the job is ended, unless it ends before
  bool operator==(const Preempt&) const = default;
};

// The first task of an array has its resources.
struct ArrayStart {
  bool operator==(const ArrayStart&) const = default;
};
// The last task of an array is over.
struct ArrayFinish {
  int status = 0;  // as from wait(2), the worst of its tasks
  std::int64_t cpu_ms = 0, max_rss_kb = 0;
  bool operator==(const ArrayFinish&) const = default;
};

// An open array gets `tasks` more, behind those it has (ArrayExtend), or is closed (ArrayClose).
struct ArrayExtend {
  std::uint64_t tasks = 0;
  bool operator==(const ArrayExtend&) const = default;
};
struct ArrayClose {
  bool operator==(const ArrayClose&) const = default;
};

// A child instance has got more than it began with: the job `grant` holds that for it.
struct GrantExtend {
  std::uint64_t grant = 0;
  std::int64_t cores = 0, gpus = 0;
  Time until = 0;  // when it goes back; 0: with the child's end
  // Agents of the whole nodes among it, ascending: each runs one more part of the child's job, an
  // agent of the child.
  std::vector<std::uint32_t> ranks = {};
  bool operator==(const GrantExtend&) const = default;
};
// The child was asked to give that back.
struct GrantRecall {
  std::uint64_t grant = 0;
  Time by = 0;
  std::string mode;  // drain: what runs there ends by itself; kill: it is ended at `by`
  std::string note;  // for people
  bool operator==(const GrantRecall&) const = default;
};
// The child needs its agents on the whole nodes of a grant no more: they are ended.
struct GrantLeave {
  std::uint64_t grant = 0;
  bool operator==(const GrantLeave&) const = default;
};
// It is back: no process of the child is left there.
struct GrantReturn {
  std::uint64_t grant = 0;
  bool operator==(const GrantReturn&) const = default;
};

// A child instance has lent some of its own, until a time.
struct Loan {
  std::int64_t cores = 0, gpus = 0;
  Time until = 0;
  bool operator==(const Loan&) const = default;
};
// It has some of that back.
struct LoanReturn {
  std::int64_t cores = 0, gpus = 0;
  bool operator==(const LoanReturn&) const = default;
};

}  // namespace event

using EventBody =
    std::variant<event::Submit, event::Validate, event::Invalidate, event::Depend, event::Priority,
                 event::Urgency, event::Alloc, event::ResourceUpdate, event::Start, event::Instance,
                 event::Exception, event::Finish, event::Release, event::Free, event::Clean,
                 event::DependencyAdd, event::DependencyRemove, event::RankStart, event::RankFinish,
                 event::Requeue, event::JobspecUpdate, event::Suspend, event::Resume,
                 event::ArrayStart, event::ArrayFinish, event::Preempt, event::ArrayExtend,
                 event::ArrayClose, event::GrantExtend, event::GrantRecall, event::GrantReturn,
                 event::GrantLeave, event::Loan, event::LoanReturn>;

struct Event {
  Time time = 0;
  EventBody body;
  bool operator==(const Event&) const = default;
};

// RFC 18 name ("submit", "alloc", ...) and context (a JSON object, "{}" where there is nothing to
// say).
const char* name_of(const EventBody& body);
std::string context_of(const EventBody& body);
// Errors: invalid_argument for an unknown name or a context that does not fit it.
Result<EventBody> parse_event(std::string_view name, std::string_view context);
// One line of an event log: {"timestamp":1.234,"name":"submit","context":{...}}\n
std::string eventlog_line(const Event& event);

// The part of a job that one agent runs.
struct Part {
  std::uint32_t rank = 0;  // the agent's
  bool started = false;    // the part's tasks have run
  bool finished = false;   // no task of the part runs any more, or ever will
  bool never = false;      // finished without having been started
  Time t_finish = 0;
  event::Finish how = {};                 // once finished
  std::vector<event::Process> processes;  // while they may run, in the order of the tasks
  bool decisive = false;  // a task of it has ended the job, whose exit code is this part's
  bool leaves = false;    // it is to end, though the job goes on

  bool operator==(const Part&) const = default;
};

// All updates of a job together. Null: none, so that unchanged jobs cost no more.
struct Updates {
  std::shared_ptr<const event::JobspecUpdate> all;

  bool operator==(const Updates& other) const {
    return all == other.all || (all != nullptr && other.all != nullptr && *all == *other.all);
  }
};
// `later` overrides `before`.
Updates merged(const Updates& before, const event::JobspecUpdate& later);

// The state of a job: the fold of its events.
struct Lifecycle {
  JobState state = JobState::created;
  bool submitted = false;
  bool holds_resources = false;   // between alloc and release
  bool freed = false;             // after free
  bool started = false;           // some of its tasks have run
  bool finished = false;          // all of its tasks have ended
  bool leads = false;             // its first part leads the others
  bool cancelled = false;         // it is not to run again
  bool closed = false;            // an array that gets no more tasks
  std::uint32_t preemptions = 0;  // attempts that ended because other jobs took the place
  std::uint32_t retries = 0;      // attempts that ended, with those; all below is of the last one
  event::Preempt preemption;      // `by` 0: no job takes its place
  Time retry_begin = 0;           // when the next attempt may begin
  std::string retry_note;         // how the attempt before this one ended
  std::uint32_t urgency = 16;
  Duration default_limit = 0;  // as in event::Submit
  Updates updates;             // of the submitted request
  Time suspended = 0;          // since when its tasks are stopped; 0: they run
  int status = 0;              // as from wait(2), once finished
  Time t_submit = 0, t_alloc = 0, t_start = 0, t_finish = 0, t_inactive = 0, expiration = 0;
  std::int64_t cpu_ms = 0, max_rss_kb = 0;
  std::string user;
  std::string selection;
  event::Place place;       // once allocated
  std::string environment;  // the parallel environment it was put into
  std::string child_uri;    // where the child instance listens, once it has been up
  std::string exception;    // type of the first fatal exception, "invalid" for a refused job
  std::string note;         // of that exception
  // From alloc to clean: by rank, and behind them those that grants have brought. A grant has none.
  std::vector<Part> parts;
  std::vector<event::GrantExtend> extra;  // of a child: what other jobs hold for it
  std::int64_t gone_cpu_ms = 0;           // used by parts that grants had brought

  bool operator==(const Lifecycle&) const = default;
};

// nullptr: the agent of this rank runs no part of the job.
const Part* part_of(const Lifecycle& job, std::uint32_t rank);
// The place of the part of `rank` among the parts, counted from 0.
std::size_t place_of(const Lifecycle& job, std::uint32_t rank);
// The processes of all parts, by rank.
std::vector<event::Process> processes_of(const Lifecycle& job);
// Does another part lead this one? (The part is an agent of a child instance then.)
bool is_led(const Lifecycle& job, std::uint32_t rank);
// Is every part over, but for that of `rank`?
bool others_are_over(const Lifecycle& job, std::uint32_t rank);
// How the whole job ended: the exit code of the part that decided it, else the highest one, and the
// sum of what all parts used. (Why it failed is in the first exception.) nullopt: no task of any
// part was ever started.
std::optional<event::Finish> whole_of(const std::vector<Part>& parts);

// The job after `event`. Errors: protocol when the event cannot happen in this state; nothing is
// half applied.
Result<Lifecycle> apply(const Lifecycle& job, const Event& event);

// Has another job taken this job's place, so that it is over or runs again?
bool has_given_place(const Lifecycle& job);

// What has to be done next in a state. Doing it again is harmless.
enum class Step : std::uint8_t {
  none,      // NEW before submit, INACTIVE
  validate,  // decide between validate and invalidate
  depend,    // wait for dependencies, then post depend
  priority,  // compute the priority, then post it
  enqueue,   // be in the scheduler's queue
  start,     // have the agents start the tasks
  watch,     // all of them run: keep the limit
  kill,      // tasks may run and must not
  release,   // give the resources back
  clean,     // post clean
};
Step next_step(const Lifecycle& job);
// The next step for one part, for its agent: start, watch, kill or none.
Step next_step(const Lifecycle& job, std::uint32_t rank);

// Whether a fatal exception of this type is a cancel: somebody's, or because too many other tasks
// of the array had failed (others-failed).
bool is_cancel(const std::string& exception);
// COMPLETED, FAILED, CANCELED, TIMEOUT or REJECTED; empty until the job is INACTIVE.
std::string result_of(const Lifecycle& job);
// 0..255, 128+signal; -1 while the tasks have not ended or never ran.
int exit_code_of(const Lifecycle& job);
// How the last attempt ended: the note of its exception, else "signal 9" or "exit code 3".
std::string end_in_words(const Lifecycle& job);

}  // namespace holon::instance
