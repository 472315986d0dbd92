// submission.hpp - what equal jobs share: their jobspec, parsed once, and what listings and agents
// need of it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "instance/request/dependencies.hpp"
#include "instance/request/scheduling_options.hpp"
#include "resource/jobspec/file_archive.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::instance {

// The units of a request, added up at its smallest counts.
struct Totals {
  std::int64_t nodes = 0, cores = 0, gpus = 0, slots = 0;
  bool operator==(const Totals&) const = default;
};
Totals totals_of(const resource::Jobspec& spec);

// "2 cores", "1 node, 8 cores, 1 GPU"; "" for nothing.
std::string describe(const Totals& totals);

// The most tasks of a job beyond one a slot: each costs broker and agent memory and a process.
inline constexpr std::int64_t kMaxTasks = 100'000;

// How many tasks a job has that gets `totals`. Errors: out_of_range (more than kMaxTasks and than
// slots), unsupported (per_resource).
Result<std::int64_t> task_count(const resource::Task& task, const Totals& totals);

// ms: the longest limit that is taken, a hundred years. What would be told of longer ones, as how
// much time is missing, says nothing to anybody.
inline constexpr Duration kLongestLimit = Duration{36'500} * 86'400'000;

// Which ranks the tasks of a node have: consecutive ones, or those that the node gets when ranks
// are dealt to the nodes in turn.
enum class Distribution : std::uint8_t { block, cyclic };

// An array (wishes.array) has the number `first`; its `count` tasks have the numbers behind it.
struct Submission {
  JobId first;
  std::uint64_t count = 1;
  bool is_instance = false;
  std::shared_ptr<const resource::Jobspec> spec;
  std::vector<std::string> argv;  // replaces the command of its spec; empty: that
  std::string name;               // job.name, else the command's last path component
  std::string queue;
  std::string command;    // for display, cut at 200 bytes or slightly less, between characters
  std::string resources;  // for display
  Totals totals;
  std::int64_t ntasks = 1;
  Duration limit = 0;              // ms; 0: none
  bool has_default_limit = false;  // the limit is job.default-limit as the jobs were taken
  // shell.options: files as asked for, "" for the default
  std::string input, output, error;
  std::string input_tasks;        // ranks whose input a client sends: "all" or an idset; "": none
  bool label = false;             // label-io
  bool slurm_names = false;       // slurm-names: tasks get SLURM_* beside HOLON_*
  bool kill_on_bad_exit = false;  // exit-on-error: a task that fails ends all tasks
  // shell.options.signal, as Flux has it: a signal to all tasks, ms before the limit; 0: none.
  int warn_signal = 0;
  Duration warn_before = 0;
  std::vector<std::string> rlimits;  // shell.options.rlimit: "nofile=4096", "core=unlimited"
  int file_mask = -1;                // shell.options.umask, "027"; negative: none requested
  Distribution distribution = Distribution::block;  // shell.options.taskmap
  std::string mpi;  // auto, pmi1, pmi2, pmix, none; "": that of the instance (job.mpi)
  SchedulingOptions wishes;
  // attributes.user: the submitter's words about the job, for policies; null: none. Only texts and
  // numbers are kept.
  std::shared_ptr<const std::map<std::string, std::string>> attributes;
  // attributes.system.files: on each node of the job while its tasks run; null: none.
  std::shared_ptr<const std::vector<resource::AddedFile>> files;
  std::vector<Dependency> dependencies;
};

// The index of a task of an array; nullopt for the array as a whole, and for other jobs. REQUIRES:
// `id` is one of the submission's.
std::optional<std::int64_t> array_index(const Submission& submission, JobId id);
// `text` with {{array.id}}, {{array.index}}, {{entry}} and {{entry.FIELD}} replaced for a task of
// an array. `in_path`: each entry becomes one component of a path. REQUIRES: as above.
std::string with_words_of(const Submission& submission, JobId id, const std::string& text,
                          bool in_path = false);
// The entry of a task of an array (HOLON_ENTRY); "": none. REQUIRES: as above.
std::string entry_of(const Submission& submission, JobId id);
// HOLON_ARRAY_ID, HOLON_ARRAY_INDEX, HOLON_ARRAY_COUNT, HOLON_ENTRY, and Slurm's names for them if
// asked for. REQUIRES: as above.
std::map<std::string, std::string> array_variables(const Submission& submission, JobId id);

// Replaces the command of the spec. REQUIRES: argv is not empty.
void set_command(Submission& submission, std::vector<std::string> argv);

// Parses a jobspec and reads it. Errors: invalid_argument (the jobspec; no command; attributes of
// ours that do not fit), and those of task_count.
Result<Submission> make_submission(const std::string& jobspec, bool is_instance);
// Likewise for a journal: the jobspec was within its bounds when it came, and may have grown since.
Result<Submission> kept_submission(const std::string& jobspec, bool is_instance);

// Gives jobs that ask for no limit this one, in ms; 0: they get none.
void set_default_limit(Submission& submission, Duration limit);

}  // namespace holon::instance
