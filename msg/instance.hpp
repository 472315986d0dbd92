// instance.hpp - what clients, parents and children say to a broker. docs/protocol.md is the
// description for others.
//
// Every struct travels as a msgpack map: unknown keys are ignored, absent ones keep their default,
// so that both sides may be a version apart. Times are for people: milliseconds since the Unix
// epoch, by the wall clock of whoever answers; durations milliseconds; 0 means "none" or "not yet"
// for both. What a scheduler goes by travels as a duration (instance/basics/clock.hpp). The topic
// of each request stands above its struct; the answer's struct follows it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// A request or an answer that carries nothing: an empty map.
struct Empty {
  HOLON_FIELDS()
};

// The state of a job, as every listing shows it. A record outlives the job, and the child instance
// that ran it.
struct JobRecord {
  std::string path;  // "/3/7": the instance's path and the job's id
  std::uint64_t id = 0;
  std::string name;
  std::string user;
  std::string group, account, qos;  // "": none given
  std::string queue;
  std::uint32_t urgency = 16;
  std::string state;      // NEW, DEPEND, PRIORITY, SCHED, RUN, CLEANUP, INACTIVE
  std::string result;     // of an INACTIVE job: COMPLETED, FAILED, CANCELED, TIMEOUT, REJECTED
  int exit_code = -1;     // 0..255, 128+signal; -1 while there is none
  std::string reason;     // why it waits, failed or was refused: a sentence a person can act on
  std::string command;    // for display
  std::string nodelist;   // hostlist of where it runs or ran
  std::string resources;  // short, for display: "2 cores", "1 node, 8 cores, 1 gpu"
  std::int64_t nnodes = 0, ncores = 0, ngpus = 0, ntasks = 0;
  std::int64_t t_submit = 0, t_alloc = 0, t_start = 0, t_finish = 0, t_inactive = 0;
  std::int64_t t_estimate = 0;              // planned start of a pending job
  std::int64_t expiration = 0;              // when its time limit ends it
  std::int64_t limit = 0;                   // duration asked for
  std::string selection;                    // immediate, backfill, reserved
  bool is_instance = false;                 // its task is a child instance
  std::string child_uri;                    // of a child that is up
  std::string output, error;                // files
  std::int64_t cpu_ms = 0, max_rss_kb = 0;  // resource usage of its tasks together
  std::vector<std::int64_t> pids;           // of its tasks, rank order, while it runs
  // Attempts that failed and were followed by another one; all above but what was submitted is
  // about the last attempt.
  std::uint32_t retries = 0;
  std::uint32_t preemptions = 0;  // attempts that ended because another job took its place
  std::int64_t t_suspended = 0;   // since when its tasks are stopped; 0: they are not
  // For an array: its own id, how many tasks it has, and how many of them wait, have resources, or
  // ended in which way (a time limit is a failure). For a task of one: the array's id, and its
  // index.
  std::uint64_t array = 0;
  std::int64_t index = 0;
  std::uint64_t tasks = 0, tasks_pending = 0, tasks_running = 0, tasks_completed = 0,
                tasks_failed = 0, tasks_cancelled = 0;
  // For an array, about its tasks that are over: how many of the failed ones were ended by their
  // limit, how many have started, and of these the numbers that Usage has of jobs.
  std::uint64_t tasks_timeout = 0, tasks_started = 0;
  std::int64_t tasks_wait_ms = 0, tasks_run_ms = 0, tasks_core_ms = 0;
  bool tasks_open = false;  // of an array: it may get more, and is not over before it is closed
  std::string entry;        // of a task of an array: what it was given (HOLON_ENTRY)
  // The cause that ended it or kept it from running, other than its tasks: cancel, timeout,
  // dependency, preempt, ...
  std::string exception;
  // The time of this state, if the job's instance cannot be asked, and may know more; else 0.
  std::int64_t as_of = 0;
  // The kind of what a pending job waits for, as `reason` says in words: resources, dependency, ...
  // (docs/protocol.md has them all); "": it does not wait.
  std::string waits_for;
  // Of an instance that runs: the cores and GPUs that it has beyond its own, by grants.
  std::int64_t extra_cores = 0, extra_gpus = 0;
  // Likewise of its own, that it has lent.
  std::int64_t lent_cores = 0, lent_gpus = 0;

  // Names of default fields would be most of the bytes. Append only: journals count places.
  HOLON_FIELDS_WITHOUT_DEFAULTS(path, id, name, user, group, account, qos, queue, urgency, state,
                                result, exit_code, reason, command, nodelist, resources, nnodes,
                                ncores, ngpus, ntasks, t_submit, t_alloc, t_start, t_finish,
                                t_inactive, t_estimate, expiration, limit, selection, is_instance,
                                child_uri, output, error, cpu_ms, max_rss_kb, pids, retries,
                                preemptions, t_suspended, array, index, tasks, tasks_pending,
                                tasks_running, tasks_completed, tasks_failed, tasks_cancelled,
                                tasks_timeout, tasks_started, tasks_wait_ms, tasks_run_ms,
                                tasks_core_ms, tasks_open, as_of, entry, exception, waits_for,
                                extra_cores, extra_gpus, lent_cores, lent_gpus)
};

// "submit": count equal jobs, or an array of so many tasks where attributes.system.holon.array is
// there, all journalled before the answer. A jobspec that can never run is
// refused with Errc::unsatisfiable and the reason; nothing is kept but the refusal's record (state
// INACTIVE, result REJECTED). Sent again with the same key it has the same answer, and no more
// jobs; the same key with another jobspec or count is refused with Errc::exists.
struct SubmitRequest {
  std::string jobspec;  // RFC 14 JSON; attributes.system has duration, cwd, environment, queue,
                        // job.name, shell.options.{output,error,label-io}, constraints
  std::uint64_t count = 1;
  std::uint32_t urgency = 16;
  std::string user;
  bool is_instance = false;  // holon batch, holon alloc: the task is `holon start`
  std::string key;  // of the client's choice, at most 128 bytes; kept as long as the first job's
                    // record; "": sent again, it is another submission
  HOLON_FIELDS(jobspec, count, urgency, user, is_instance, key)
};
struct SubmitReply {
  std::uint64_t first_id = 0;  // the jobs are first_id .. first_id + count - 1
  std::uint64_t count = 0;     // 1 for an array: it is one job
  std::uint64_t tasks = 0;     // of an array; the numbers behind first_id are theirs
  HOLON_FIELDS(first_id, count, tasks)
};

// The filter of a listing: jobs that meet all of these. An empty string or list, or 0, asks for
// nothing.
struct JobFilter {
  std::vector<std::string> states;  // JobRecord's states and results, PENDING and RUNNING; any of
  std::int64_t since = 0;           // jobs that are active, or ended at this time or later
  std::string user, queue;
  std::string name;        // with *, ? and [...] as a shell has them
  std::int64_t until = 0;  // jobs that ended before this time
  HOLON_FIELDS(states, since, user, queue, name, until)
};

// "jobs"
struct JobsRequest {
  bool all = false;                // inactive ones too
  bool recursive = false;          // jobs of child instances too, dead or alive
  std::vector<std::uint64_t> ids;  // only these, as far as there are such jobs (Errc::not_found if
                                   // there is none); empty: no such filter
  std::uint64_t limit = 0;         // at most so many, the newest ones; 0: no limit
  std::int64_t timeout = 0;        // ms a child may take to answer (recursive); 0: as configured
  std::string after;               // `next` of the answer before; empty: the first page
  std::uint64_t page = 0;          // at most so many in this answer; 0: as many as a page has
  JobFilter filter;
  bool stats = false;  // only `counts` in the answers; not with `recursive`
  // Answers have only `usage`, of jobs that are over, by: user, name, queue, account, group, qos,
  // result, day (of the end, "2026-12-24", by the clock of the instance); not with `recursive`.
  std::string by;
  bool tasks = false;  // behind each array its tasks; not with `limit` or `recursive`
  HOLON_FIELDS(all, recursive, ids, limit, timeout, after, page, filter, stats, by, tasks)
};
struct StateCount {
  std::string state;  // of an inactive job: its result
  std::uint64_t jobs = 0;
  HOLON_FIELDS(state, jobs)
};
// The waits and the use of jobs that are over, added up.
struct Usage {
  std::string key;  // the user, the day, ...
  std::uint64_t jobs = 0;
  std::uint64_t completed = 0, failed = 0, cancelled = 0, timeout = 0, rejected = 0;
  std::uint64_t started = 0;    // of them
  std::int64_t wait_ms = 0;     // of those that started, until then
  std::int64_t run_ms = 0;      // from their start to their end
  std::int64_t core_ms = 0;     // the same, by the cores that each held
  std::int64_t cpu_ms = 0;      // of their tasks
  std::int64_t max_rss_kb = 0;  // the most that one had
  std::uint64_t retries = 0;
  std::uint64_t preemptions = 0;
  HOLON_FIELDS(key, jobs, completed, failed, cancelled, timeout, rejected, started, wait_ms, run_ms,
               core_ms, cpu_ms, max_rss_kb, retries, preemptions)
};
// One page. Without `recursive`, pages follow each other in the order of the ids, with a limit in
// the reverse order; with it in none, a path may come twice, and the limit is one for each
// instance. With a filter a page may be empty and not the last one.
struct JobsReply {
  std::vector<JobRecord> jobs;  // ordered by path, numerically
  std::string next;             // where the next page begins; empty: this was the last one
  std::vector<StateCount> counts =
      {};                         // with `stats`: of the jobs of this page, which are not in it
  std::vector<Usage> usage = {};  // with `by`: the same
  HOLON_FIELDS(jobs, next, counts, usage)
};

// "job.tasks": the numbers of tasks of an array, which stand for them wherever a job's id does. An
// index that the array does not have is refused with Errc::not_found.
struct TasksRequest {
  std::uint64_t array = 0;  // its id
  std::string indices;      // an idset (RFC 22): "12", "3-9"; "": all
  std::string results;      // that ended so, or by this: "FAILED,others-failed"; "": no filter
  HOLON_FIELDS(array, indices, results)
};
struct TasksReply {
  std::string ids;      // an idset
  std::string indices;  // of these tasks, an idset
  HOLON_FIELDS(ids, indices)
};

// "job.info": everything kept about one job.
struct JobInfoRequest {
  std::uint64_t id = 0;
  HOLON_FIELDS(id)
};
struct JobInfoReply {
  JobRecord job;
  std::string jobspec;   // JSON
  std::string R;         // Rv1 JSON with JGF under "scheduling"; empty if never allocated
  std::string eventlog;  // JSON lines (RFC 18)
  HOLON_FIELDS(job, jobspec, R, eventlog)
};

// "job.watch" (stream): one JobEvent per event, from the first on, ends after `clean` of the last
// one asked for. With no ids and follow_all, every event of every job until the client leaves.
struct WatchRequest {
  std::vector<std::uint64_t> ids;
  bool follow_all = false;
  HOLON_FIELDS(ids, follow_all)
};
struct JobEvent {
  std::uint64_t id = 0;
  std::int64_t time = 0;
  std::string name;     // submit, validate, depend, priority, alloc, start, exception, finish,
                        // release, free, clean
  std::string context;  // JSON object
  HOLON_FIELDS(id, time, name, context)
};

// "job.wait": answered once all are INACTIVE. No ids: all active jobs there are now.
struct WaitRequest {
  std::vector<std::uint64_t> ids;
  HOLON_FIELDS(ids)
};
struct WaitReply {
  std::vector<JobRecord> jobs;
  HOLON_FIELDS(jobs)
};

// "job.attach" (stream): output as it is written, from its beginning; ends when the job is
// INACTIVE.
struct AttachRequest {
  std::uint64_t id = 0;
  HOLON_FIELDS(id)
};
struct OutputChunk {
  std::int32_t task = 0;
  bool error = false;  // stderr
  std::string data;
  HOLON_FIELDS(task, error, data)
};

// "cancel": pending jobs go at once, running ones get SIGTERM and after the grace SIGKILL.
struct CancelRequest {
  std::vector<std::uint64_t> ids;
  bool all = false;
  std::string reason;
  std::string numbers = {};  // in place of ids: an idset, of which whole ranges are ended at once
  HOLON_FIELDS(ids, all, reason, numbers)
};
struct CancelReply {
  std::vector<std::uint64_t> cancelled;
  std::vector<std::uint64_t> already_inactive;
  // Idsets, if numbers were asked for.
  std::string cancelled_numbers = {}, inactive_numbers = {};
  HOLON_FIELDS(cancelled, already_inactive, cancelled_numbers, inactive_numbers)
};

// "job.signal": to the process groups of all tasks of these running jobs; all or none of them.
struct SignalRequest {
  std::vector<std::uint64_t> ids;
  std::int32_t signal = 0;  // as in signal(7)
  HOLON_FIELDS(ids, signal)
};

// "job.update": changes what jobs ask for; all or none of them. Of running ones only the limit can
// be changed, and of running instances `elastic`.
struct UpdateRequest {
  std::vector<std::uint64_t> ids;
  std::int64_t limit = -1;    // ms; 0: none; negative: as it is
  std::int64_t extend = 0;    // ms that are added to the limit, or, negative, taken away
  std::string name, queue;    // "": as it is
  std::int64_t urgency = -1;  // 0 to 31; negative: as it is
  std::int64_t nodes = 0;     // 0: as many as before
  std::int64_t slots = 0;     // in all; 0: as many as before
  // Of instances: up to how many cores they ask for more by themselves (grant.max), 0: they do not,
  // negative: as before; and with how many they begin, 0: as before.
  std::int64_t elastic = -1;
  std::int64_t elastic_least = 0;
  HOLON_FIELDS(ids, limit, extend, name, queue, urgency, nodes, slots, elastic, elastic_least)
};

// "job.suspend": the tasks of running jobs are stopped (SIGSTOP), or go on (SIGCONT); all of them
// or none. They keep their resources, and their time limits count on.
struct SuspendRequest {
  std::vector<std::uint64_t> ids;
  bool suspend = true;  // false: they go on
  HOLON_FIELDS(ids, suspend)
};

// "tree": this instance and, recursively, its children. Children that do not answer in time are
// marked.
struct TreeRequest {
  std::int64_t timeout =
      0;  // ms a child may take to answer; 0: as configured (instance.tree-timeout)
  HOLON_FIELDS(timeout)
};
struct TreeNode {
  std::string path;  // "/", "/3"
  std::string name;
  std::string policy;  // of its default queue
  // Failures in user-written policies, a line for each queue; "": none.
  std::string policy_trouble;
  std::string uri;
  std::string state_dir;  // where its journal and outputs are; "": it does not answer
  std::string health;     // up, read-only (its journal cannot be written), starting, ending,
                          // unreachable, ended; waiting, of one that was planted
  std::int64_t pid = 0;   // of the broker
  std::int64_t nodes = 0, cores = 0, cores_free = 0, gpus = 0, gpus_free = 0;
  // failed: inactive and not COMPLETED; cancelled: of these, those that are CANCELED
  std::int64_t pending = 0, running = 0, inactive = 0, failed = 0, cancelled = 0;
  std::int64_t t_started = 0, expiration = 0;
  std::vector<TreeNode> children;
  std::string shape;                   // of the tree that it has planted below it, "4x4"; "": none
  std::vector<std::uint64_t> planted;  // the jobs that the children of that are, over or not
  std::string why;                     // it waits or has ended; "": not known
  std::int64_t lent_cores = 0, lent_gpus = 0;  // of these, to the instance above
  HOLON_FIELDS(path, name, policy, uri, health, pid, nodes, cores, cores_free, gpus, gpus_free,
               pending, running, inactive, failed, cancelled, t_started, expiration, children,
               policy_trouble, state_dir, shape, planted, why, lent_cores, lent_gpus)
};

// "status": the same node without children.
using StatusRequest = Empty;

// "journal.compact": what holds nothing any more is given back to the disk, a little at a time.
using CompactRequest = Empty;
struct CompactReply {
  std::int64_t bytes_before = 0, bytes_after = 0;  // of the journal's files
  HOLON_FIELDS(bytes_before, bytes_after)
};

// "shutdown": ends the instance in order; running jobs are cancelled first.
struct ShutdownRequest {
  std::string reason;
  HOLON_FIELDS(reason)
};

// ---- parent and child (the child connects up) ----

// "hello" (child to parent), answered with Grant.
struct Hello {
  std::string token;        // HOLON_TOKEN of what the agent handed over
  std::uint64_t job = 0;    // the parent's job that is this child
  std::string uri;          // where this child listens
  std::uint64_t epoch = 0;  // 0: has no grant yet
  std::int64_t pid = 0;
  // For several agents: the invitation to let them in (launch/remote/invitation.hpp); else "".
  std::string invitation;
  HOLON_FIELDS(token, job, uri, epoch, pid, invitation)
};
// "invitation" (to the parent, from a process that the parent has started to be an agent of its
// child), answered when the child has said hello.
struct InvitationRequest {
  std::string token;      // as of Hello
  std::uint64_t job = 0;  // the same
  HOLON_FIELDS(token, job)
};
struct InvitationReply {
  std::string invitation;  // as of Hello
  HOLON_FIELDS(invitation)
};
struct Grant {
  std::string jgf;             // lean JGF with "x-grant" (docs/formats.md)
  std::int64_t time_left = 0;  // ms until it ends, as this is written; 0: it has no end
  std::int64_t lease = 0;      // the name of that end: the same name means the same end
  std::uint64_t epoch = 0;
  std::string path;           // the child's path
  std::string name;           // the child's, for display, unless it was given one of its own
  bool bind = true;           // false: the resources are declared, tasks are not bound
  std::int64_t elastic = -1;  // instead of its grant.max, as in UpdateRequest
  // ms that the parent waits for its orderly end; negative: it has not said
  std::int64_t patience = -1;
  std::string moved_by;            // as in Lease
  bool moved_by_operator = false;  // as in Lease
  bool for_good = false;           // as in Lease
  HOLON_FIELDS(jgf, time_left, lease, epoch, path, name, bind, elastic, patience, moved_by,
               moved_by_operator, for_good)
};
// "ending" (up, answered with Empty): the child begins its end. Said again as its last word once
// all its jobs are INACTIVE and the parent has acknowledged all records.
struct Ending {
  bool told_all = false;
  HOLON_FIELDS(told_all)
};

// "lease" (down): another end, or another maximum; as in Grant.
struct Lease {
  std::int64_t time_left = 0;
  std::int64_t lease = 0;
  std::int64_t elastic = -1;
  // The instance whose own limit that end is, by its path from the root: `holon update` of it moves
  // the end. Empty: no limit does that.
  std::string moved_by;
  bool moved_by_operator = false;  // only operators may make it later
  bool for_good = false;           // of a child that goes on: it does not run again
  HOLON_FIELDS(time_left, lease, elastic, moved_by, moved_by_operator, for_good)
};
// "record" (up): job records that changed, paths relative to the tree's root; answered with Empty
// once journalled.
struct Records {
  std::vector<JobRecord> jobs;
  HOLON_FIELDS(jobs)
};

}  // namespace holon::msg
