// messages.hpp - the messages between a broker and its agents. docs/protocol.md describes them for
// others.
//
// The agent connects to the broker; both then send requests. Every struct travels as a msgpack map:
// unknown keys are ignored, absent ones keep their default. Times are ms on the agent's own clock,
// which means nothing to others: only how long something was before `clock`, the moment of the
// message. Durations are ms; 0 means none. Core and GPU numbers are those of the node's topology as
// the agent exported it ("core" ids of R), written as idsets: "0-3,8".
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::launch::msg {

// An answer that carries nothing: an empty map.
struct Empty {
  HOLON_FIELDS()
};

// A process that cannot be mistaken for a later one with the same number.
struct ProcessId {
  std::int64_t pid = 0;
  std::uint64_t start =
      0;  // field 22 of /proc/PID/stat, clock ticks since boot; 0: unknown, is never killed
  bool operator==(const ProcessId&) const = default;
  HOLON_FIELDS(pid, start)
};

// How one task ended.
struct TaskResult {
  std::uint32_t rank = 0;
  std::int32_t status = 0;  // as in waitpid(2); meaningless if it was never started
  bool started = false;
  std::int64_t cpu_ms = 0;  // user and system time, with the children it waited for
  std::int64_t max_rss_kb = 0;
  bool operator==(const TaskResult&) const = default;
  HOLON_FIELDS_WITHOUT_DEFAULTS(rank, status, started, cpu_ms, max_rss_kb)
};

// This agent's tasks of one job now run.
struct Started {
  std::uint64_t job = 0;
  std::int64_t t_start = 0;          // of the first task
  std::vector<ProcessId> processes;  // in the order of Start::tasks
  std::uint32_t attempt = 0;         // Start::attempt
  std::int64_t limit = 0;            // the limit it keeps, as Start::limit
  bool suspended = false;            // its tasks are stopped
  bool checkpointed = false;         // its tasks got the signal of agent.checkpoint
  HOLON_FIELDS_WITHOUT_DEFAULTS(job, t_start, processes, attempt, limit, suspended, checkpointed)
};

// This agent's tasks of one job are over, and so is every process that they left behind.
struct Finished {
  std::uint64_t job = 0;
  std::string reason;  // exit: all tasks ended by themselves, by a signal too (see tasks)
                       // timeout: the time limit was reached    killed: agent.kill asked for it
                       // exec: a task could not be started (see what)
                       // abort: a task has ended all of them, or ended itself while the others
                       // counted on it (see what); exit_code is its own
                       // memory: its tasks have used more than Start::memory (see what)
                       // orphaned: no broker for the whole orphan timeout
                       // late: Start::start_by was over before its tasks could start: it may be
                       // started again
  std::string what;    // exec: which step, on what, with the system's words; abort: who, why
  std::int32_t exit_code =
      0;  // the highest of all tasks: 0..255, 128+signal; 127 command not found, 126 not startable
  std::int64_t t_start = 0;  // 0: nothing was started
  std::int64_t t_finish = 0;
  std::vector<TaskResult> tasks;
  std::uint32_t attempt = 0;   // Start::attempt
  std::string output, error;   // all that was written into a slot (Start::in_slot); else in files
  std::int64_t memory_kb = 0;  // the peak seen of all its processes together; 0: not looked
  bool in_slot = false;        // its tasks have written into a slot: none of its files is empty
  bool denied = false;         // exec: the task's user may not have `what` (SpawnError)
  HOLON_FIELDS_WITHOUT_DEFAULTS(job, reason, what, exit_code, t_start, t_finish, tasks, attempt,
                                output, error, memory_kb, in_slot, denied)
};

// ---- agent to broker ----

// "agent.join": sent with the key of an invitation (remote/invitation.hpp), which is good for
// nothing else, by a process on a node that the instance is to have an agent on.
struct JoinRequest {
  std::int64_t rank = -1;  // as told by its launcher; negative: not told
  std::string host;        // the node's own name
  bool for_users = false;  // tasks are started as their users there
  HOLON_FIELDS(rank, host, for_users)
};
// What the agent of that node has to know. For rank 0, whose agent is beside the broker, nothing is
// returned: the sender is not needed.
struct JoinReply {
  std::uint32_t rank = 0;
  std::string host;                    // the instance's name for the node
  std::string public_key, secret_key;  // CURVE keys that speak for this rank only
  std::string secret;                  // for Hello
  std::string lineage;                 // of the instance's own processes (tracking/lineage.hpp)
  std::int64_t orphan_timeout = 0;     // ms, as in AgentOptions
  HOLON_FIELDS(rank, host, public_key, secret_key, secret, lineage, orphan_timeout)
};

// The answer to "agent.report", and part of the answer to a hello: acknowledges all of `finished`,
// and says what became of it.
struct Reported {
  // The broker cannot write the output of these jobs, as on a full disk: the agent leaves it in the
  // files that Start names.
  std::vector<std::uint64_t> to_files;
  HOLON_FIELDS(to_files)
};

// "agent.hello": the first request of every connection. It has all jobs of the agent, and results
// that were not acknowledged, so that nothing is lost whichever side was restarted.
struct Hello {
  std::uint32_t rank = 0;
  std::string hostname;
  std::int64_t pid = 0;
  std::uint64_t incarnation =
      0;                   // of this agent process; a new one knows nothing of the old one's jobs
  std::int64_t began = 0;  // ms of its host's clock since the boot; 0: not told
  // hwloc XML of what this process may use, without what tells equal nodes apart (topology.hpp);
  // "": not requested yet, and topology_digest tells the broker whether it knows it.
  std::string topology;
  std::string topology_digest;
  std::vector<Started> running;
  std::vector<std::uint64_t> waiting;  // jobs taken over that it will start, unless told not to
  std::vector<Finished> finished;      // unacknowledged; the answer acknowledges them
  std::int64_t clock = 0;              // the agent's clock now
  bool swept = false;                  // all `orphans` of an earlier answer are gone
  std::string secret;                  // the supervisor gave it to both sides
  std::int64_t lasts = 0;              // ms from now until its node is gone; 0: not known
  // The batch job of its node, which ends at the same time: the system as in batch.system, and the
  // job as the system's commands take it. Empty: none that would end before the instance.
  std::string batch_system, batch_job;
  HOLON_FIELDS(rank, hostname, pid, incarnation, began, topology, topology_digest, running, waiting,
               finished, clock, swept, secret, lasts, batch_system, batch_job)
};
struct Welcome {
  bool accepted = true;             // false: the agent kills its jobs and ends
  std::string refusal;              // why it is not accepted
  std::vector<std::uint64_t> kill;  // jobs of `running` and `waiting` that are not wanted any more
  // Leaders of sessions that earlier agents of this rank left. If there are any the hello is not
  // accepted, and is sent again when they and all in their sessions are gone.
  std::vector<ProcessId> orphans;
  // Jobs of `running` and `waiting` that are over for the broker, which had given this agent up. If
  // there are any the hello is not accepted, and is sent again when they have ended.
  std::vector<std::uint64_t> given_up;
  // The hello is not accepted, and is sent again with the topology.
  bool wants_topology = false;
  Reported told;  // about `finished`
  HOLON_FIELDS(accepted, refusal, kill, orphans, given_up, wants_topology, told)
};

// "agent.report": what happened since the last report. The answer (Reported) acknowledges all of it
// and should be sent once it is on disk; until then the agent repeats `finished` after every
// reconnect, in its Hello.
struct Report {
  std::vector<Started> started;
  std::vector<Finished> finished;
  std::int64_t clock = 0;  // the agent's clock now
  HOLON_FIELDS(started, finished, clock)
};

// Bytes that the tasks of one part may put before a fence.
inline constexpr std::size_t kMostPut = 8 << 20;

// "agent.fence": the tasks of this agent's part of a job have all come to a fence. Answered when
// those of all parts have. Sent again with the same number after each lost connection, as is the
// fence before it, in which other parts may still wait: a restarted broker knows of none.
struct FenceRequest {
  std::uint64_t job = 0;
  std::uint64_t round = 0;  // number of the fence, counted from 1
  std::string data;         // put by its tasks since the last fence, at most kMostPut bytes
  HOLON_FIELDS(job, round, data)
};
struct FenceReply {
  std::vector<std::string> parts;  // put by the tasks of each part, in the order of parts
  HOLON_FIELDS(parts)
};

// ---- broker to agent ----

// A file that is added to a job (`--add-file`).
struct File {
  std::string name;        // within the job's folder, "fit.toml": no path
  std::uint32_t mode = 0;  // permissions, of 0777
  std::string data;
  bool operator==(const File&) const = default;
  HOLON_FIELDS_WITHOUT_DEFAULTS(name, mode, data)
};

// What to run, and where: often the same for many jobs of one message.
struct Program {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // the whole environment; HOLON_* and the like are added
  std::string cwd;                         // "": the agent's own
  bool inherit_env = false;                // start from the agent's environment, `env` on top of it
  // For a program that may come again over this connection; no other one gets it; 0: none. The
  // agent keeps the last kProgramsKept programs with a number.
  std::uint64_t number = 0;
  bool is_known = false;  // only the number is sent: the program has come, and is kept
  // Written to a folder of the job's own on each of its nodes (HOLON_JOB_TMPDIR, and "{{tmpdir}}"
  // in argv) before its tasks start, and gone with the last of them.
  std::vector<File> files;
  HOLON_FIELDS_WITHOUT_DEFAULTS(argv, env, cwd, inherit_env, number, is_known, files)
};
inline constexpr std::size_t kProgramsKept = 32;

struct Task {
  std::uint32_t rank = 0;  // within the job, over all nodes
  std::string cores;       // the task's part of the job's cores on this node; "": all
  std::string gpus;        // "": all the job's GPUs on this node
  bool operator==(const Task&) const = default;
  HOLON_FIELDS_WITHOUT_DEFAULTS(rank, cores, gpus)
};

// One job's part on this node.
struct Start {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;  // how many runs of the job are over; reports name it
  std::string path;           // "/3/7"
  std::uint32_t program = 0;  // index into StartRequest::programs
  std::vector<Task> tasks;    // of this node
  std::uint32_t ntasks = 1;   // of the job
  std::uint32_t nnodes = 1;
  std::uint32_t node_index = 0;  // this node's place in nodelist
  std::string nodelist;          // hostlist
  // If this agent stands for several nodes of a declared shape: how many of `tasks` each of them
  // has, in their order, node_index being that of the first.
  std::vector<std::uint32_t> node_tasks;
  std::string cores;  // the job's cores on this node
  std::string gpus;
  bool hides_gpus = false;  // the instance has GPUs: tasks without one are shown none
  bool bind = true;         // to the cores; false: a declared shape, cores are only numbers
  // Standard input: a file; or, for these tasks ("all", or an idset of ranks), what "agent.input"
  // brings; both empty: /dev/null. "{{taskid}}" as in output.
  std::string input, input_tasks;
  std::string output;  // file, appended to or truncated; "": /dev/null. "{{taskid}}" becomes the
                       // task's rank
  std::string error;   // "": the same as output
  bool truncate = true;
  // Output and error may be written elsewhere meanwhile: little output comes with Finished, and
  // there are no such files (streams/output_slots.hpp).
  bool in_slot = false;
  bool slurm_names = false;        // tasks get SLURM_* beside HOLON_*
  bool label = false;              // each line begins with "RANK: "
  std::uint64_t output_limit = 0;  // bytes kept of output and error together; 0: all
  std::int64_t limit = 0;          // ms from the first task's start to SIGTERM; 0: none
  std::int64_t grace = 5000;       // ms from SIGTERM to SIGKILL, at the limit and at agent.kill
  // This signal goes to all tasks `warn_before` ms before the limit, or at once if less is left.
  std::int32_t warn_signal = 0;  // 0: none
  std::int64_t warn_before = 0;
  // Lines for the shell that run here before and after the tasks, each for at most `hook_timeout`
  // ms; a prolog that fails ends the job. "": none.
  std::string prolog, epilog;
  std::int64_t hook_timeout = 60'000;
  std::vector<std::string> rlimits;  // of each task's process: "nofile=4096", "core=unlimited"
  std::int32_t file_mask = -1;       // umask(2) of each; negative: the usual one
  std::int64_t memory = 0;           // bytes for all tasks here together; 0: no bound
  bool kill_on_bad_exit = false;     // a task's non-zero exit ends all tasks of the job
  // How the processes of an MPI program find each other: pmi1; pmi2 (both versions); pmix; auto
  // (pmix for a program linked with Open MPI, else pmi2); "": no way is offered.
  std::string mpi;
  // How many tasks each part of the job has, and the place of this part; empty: this is all of it.
  // The tasks have consecutive ranks, or those that are dealt in turn to the nodes of the job
  // (deal()), whose numbers of tasks are in `dealt`: those of the first part, of the second, ...
  std::vector<std::uint32_t> part_tasks;
  std::vector<std::uint32_t> dealt;
  std::uint32_t part = 0;
  std::map<std::string, std::string> env;  // on top of the program's: HOLON_URI, ...
  std::string user;                        // the tasks' user; "": the agent's own user
  // The instance has named the file, and the agent opens it; else the user opens it.
  bool own_output = true, own_error = true;
  // Only for the task: it inherits a descriptor with them (environment.hpp).
  std::map<std::string, std::string> secrets;
  // By the agent's clock: its tasks start before that or never, for what they run on may be taken
  // from the instance then; 0: whenever they can.
  std::int64_t start_by = 0;
  HOLON_FIELDS_WITHOUT_DEFAULTS(job, attempt, path, program, tasks, ntasks, nnodes, node_index,
                                nodelist, node_tasks, cores, gpus, hides_gpus, bind, input,
                                input_tasks, output, error, truncate, in_slot, slurm_names, label,
                                output_limit, limit, grace, warn_signal, warn_before, prolog,
                                epilog, hook_timeout, rlimits, file_mask, memory, kill_on_bad_exit,
                                mpi, part_tasks, dealt, part, env, user, own_output, own_error,
                                secrets, start_by)
};

// "agent.start": many jobs at once. Answered with Empty when all were looked at; the reports tell
// what became of each. A job that runs here, or ended here and was not acknowledged, is not run
// again.
struct StartRequest {
  std::vector<Program> programs;
  std::vector<Start> jobs;
  HOLON_FIELDS(programs, jobs)
};

// "agent.signal": signals the process groups of all tasks. Unknown jobs are ignored. Answer: Empty.
struct SignalRequest {
  std::vector<std::uint64_t> jobs;
  std::int32_t signal = 0;
  HOLON_FIELDS(jobs, signal)
};

// "agent.checkpoint": as agent.signal, but once in an attempt, however often it is sent; stopped
// tasks are continued. Answer: Empty.
struct CheckpointRequest {
  std::uint64_t job = 0;
  std::int32_t signal = 0;
  HOLON_FIELDS(job, signal)
};

// "agent.kill": SIGTERM, after the grace SIGKILL; the job ends with reason "killed". Answer: Empty.
struct KillRequest {
  std::vector<std::uint64_t> jobs;
  std::int64_t grace = -1;  // ms; negative: that of its Start; 0: SIGKILL at once
  HOLON_FIELDS(jobs, grace)
};

// "agent.limit": a new time limit, counted from the first task's start. Answer: Empty.
struct LimitRequest {
  std::uint64_t job = 0;
  std::int64_t limit = 0;  // 0: none any more
  HOLON_FIELDS(job, limit)
};

// "agent.sure": what the instance has been lent is surely its own for longer than a start said: the
// tasks of these jobs may begin until then, however long what is prepared for them takes. Jobs
// whose tasks have begun, and unknown ones, are ignored. Answer: Empty.
struct SureStart {
  std::uint64_t job = 0;
  std::int64_t start_by = 0;  // as in Start
  HOLON_FIELDS(job, start_by)
};
struct SureRequest {
  std::vector<SureStart> jobs;
  HOLON_FIELDS(jobs)
};

// "agent.suspend": SIGSTOP to the process groups of all tasks, or SIGCONT. Answer: Empty.
struct SuspendRequest {
  std::vector<std::uint64_t> jobs;
  bool suspend = true;
  HOLON_FIELDS(jobs, suspend)
};

// "agent.output" (stream of OutputChunk): the job's output files from the given offsets on, as they
// are written. Ends when the job has ended here and all was sent; not_found for a job this agent
// does not hold (read the files then).
struct OutputRequest {
  std::uint64_t job = 0;
  std::uint64_t output_offset = 0;
  std::uint64_t error_offset = 0;
  HOLON_FIELDS(job, output_offset, error_offset)
};
struct OutputChunk {
  std::int32_t task = -1;  // -1: a file shared by the tasks
  bool error = false;      // stderr
  std::string data;
  HOLON_FIELDS(task, error, data)
};

// The most bytes of input in one message.
inline constexpr std::size_t kMostInput = 256 << 10;

// "agent.input": a piece of the standard input of the job's tasks here that Start::input_tasks
// names. Answered once it is in their pipes; one piece at a time. A piece that came before, by its
// offset, is not written again. not_found for a job this agent does not hold.
struct InputRequest {
  std::uint64_t job = 0;
  std::uint64_t offset = 0;  // bytes before this piece
  std::string data;
  bool end = false;  // this piece is the last
  HOLON_FIELDS(job, offset, data, end)
};
struct InputReply {
  bool open = false;  // some task still reads
  HOLON_FIELDS(open)
};

// "agent.capture": runs a program beside the agent, which is no job, and answers with its output
// once it has ended. It has the agent's environment and no standard input.
struct CaptureRequest {
  std::vector<std::string> argv;
  std::int64_t timeout = 60'000;     // ms after which it is killed; 0: none
  std::uint64_t limit = 12u << 20u;  // bytes of both streams together, after which it is killed
  HOLON_FIELDS(argv, timeout, limit)
};
struct CaptureReply {
  std::int32_t status = 0;  // as in waitpid(2)
  std::string output, error;
  HOLON_FIELDS(status, output, error)
};

// "agent.shutdown": kills what runs (with its grace), waits at most `wait` ms for the last
// acknowledgement, ends. Answered (Empty) at once.
struct ShutdownRequest {
  std::int64_t wait = 2000;
  HOLON_FIELDS(wait)
};

}  // namespace holon::launch::msg
