// job_options.hpp - the options that say what a job is: shared by run, submit, batch and alloc.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/options/signals.hpp"
#include "cli/parser/parser.hpp"
#include "msg/instance.hpp"
#include "resource/jobspec/file_archive.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::cli {

// Indices first, first + step, ...; or those of a list, written as an idset.
struct IndexRange {
  std::int64_t first = 1, step = 1, count = 1;
  std::int64_t max_running = 0;  // 0: no bound
  std::string list = {};         // "": first and step hold
  bool operator==(const IndexRange&) const = default;
};
// Checks a text for a jobspec, which is JSON, and for an environment: neither can hold text that is
// not UTF-8 or has a zero byte. Errors: invalid_argument.
Status check_text(const std::string& text, const std::string& where);

// The differences between the jobs of one submission: their indices, and their entries if any.
struct ArrayRequest {
  IndexRange indices;
  std::vector<std::string> entries;
  std::int64_t max_running = 0;                // tasks at a time; 0: no bound
  std::optional<std::int64_t> max_fails = {};  // tasks that may fail
  bool open = false;                           // it may get more tasks
};

struct JobOptions {
  resource::JobShape shape;
  Duration limit = 0;  // ms; 0: none asked for
  std::int64_t urgency = 16;
  bool own = false;                          // the child is to be the user's own
  std::string for_user;                      // the user to run as; "": the caller
  bool tasks_given = false;                  // -n was given
  std::optional<std::string> output, error;  // file names, may hold {{id}} and the like
  std::optional<std::string> input;          // a file; "none"
  std::string forwarded;  // tasks that get what the client sends: "all" or an idset; "": none
  bool label_io = false;
  bool kill_on_bad_exit = false;
  std::optional<Warning> warning;
  std::int64_t memory = 0;                      // bytes that each task may use; 0: no bound
  bool preemptible = false;                     // jobs of queues that preempt may take its place
  int checkpoint_signal = 0;                    // sent to its tasks before that; 0: none
  std::map<std::string, std::int64_t> rlimits;  // "nofile": 4096; -1: none
  std::vector<resource::AddedFile> files;       // sent along with the job
  std::optional<std::string> mpi;               // auto, pmi1, pmi2, pmix, none
  std::optional<std::string> distribution;      // block, cyclic
  bool names_of_slurm = false;                  // tasks find SLURM_* beside HOLON_*
  std::vector<std::string> environment;         // rules in the order given, see apply_environment()
  bool dry_run = false;
  // For the scheduler:
  std::map<std::string, std::int64_t> licenses, licenses_per_slot;
  std::string account, group, qos;
  std::string parallel;                           // the parallel environment
  std::string slots;                              // "4-16"; empty: shape.tasks of them
  bool reserve = true;                            // may hold a reservation while it waits
  std::int64_t reservation = 0;                   // the advance reservation it runs in; 0: none
  bool immediate = false;                         // starts at once or fails
  std::int64_t requeue = 0;                       // it runs so many times more if it fails
  std::string retry_on;                           // at these exit codes
  std::vector<std::string> dependencies;          // "afterok:7"
  std::map<std::string, std::string> attributes;  // visible to policies
  std::optional<ArrayRequest> array;
  Time begin = 0;  // the earliest start, ms since the epoch; 0: any
};

// An option of translated scripts of Slurm, which people do not type: JobOptions::names_of_slurm.
inline constexpr const char* kNamesOfSlurm = "--names-of-slurm";

// The job's unit: a task ("-n,--ntasks") or, for a child instance, a slot ("-n,--nslots").
enum class Unit { task, slot };

// Adds -n -c -g -N -x -m -t --queue --name --urgency -L -A --qos --group -R --now --dependency
// --attr --begin-time --signal, then --env --cwd --output --error --dry-run.
void add_resource_options(Parser& parser, JobOptions& options, Unit unit);
void add_job_options(Parser& parser, JobOptions& options);
// Adds -L, -n and --pe alone.
void add_license_option(Parser& parser, JobOptions& options);
void add_slots_option(Parser& parser, JobOptions& options, Unit unit);
// --mpi, --distribution, --kill-on-bad-exit, --rlimit, --requeue, --retry-on, --checkpoint-signal.
void add_task_options(Parser& parser, JobOptions& options);
void add_environment_option(Parser& parser, JobOptions& options);

// Reads the value of -N: at least 1.
std::function<Status(const std::string&)> nodes_reader(resource::JobShape& shape);

// Reads "0" to "31", "hold", "default", "expedite". Errors: invalid_argument.
Result<std::uint32_t> parse_urgency(const std::string& word);

// The request as the broker wants it.
struct JobRequest {
  msg::SubmitRequest request;
  std::vector<std::string> left_out;  // inherited variables that a jobspec cannot hold
};
// The job's request. No --name: the command's; -N alone: a task a node. Errors: invalid_argument.
Result<JobRequest> make_request(const JobOptions& options, std::vector<std::string> command);
// Says on io.err which variables are left out, if any.
void tell_left_out(Invocation& call, std::string_view verb, const JobRequest& made);

// `base` after the rules of --env, in order: NAME=VALUE sets, NAME or a pattern (with * and ?)
// takes from `process`, -PATTERN takes names out. Errors: invalid_argument (no such name in
// `process`).
using Environment = std::map<std::string, std::string>;
Result<Environment> apply_environment(Environment base, const Environment& process,
                                      const std::vector<std::string>& rules);

// The name of this process's user, or the number of a user without a name.
std::string user_name();
// The same for what is recorded under it. Errors: system (the name could not be asked for: a number
// would be another user).
Result<std::string> submitting_user();

Environment process_environment();
// The environment without HOLON_*, which belong to the job this process runs in, and without the
// variables that describe the batch job around it (batch/outer_variables.hpp).
Environment environment_for_tasks(Environment environment);

}  // namespace holon::cli
