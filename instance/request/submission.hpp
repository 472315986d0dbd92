// submission.hpp - what equal jobs share: their jobspec, parsed once, and what is read out of it
// for listings and agents.
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

// Units a request adds up to, at its smallest counts.
struct Totals {
  std::int64_t nodes = 0, cores = 0, gpus = 0, slots = 0;
  bool operator==(const Totals&) const = default;
};
Totals totals_of(const resource::Jobspec& spec);

// "2 cores", "1 node, 8 cores, 1 GPU"; "" for nothing.
std::string describe(const Totals& totals);

// Tasks of one job beyond one a slot: each costs the broker and the agent memory and a process.
inline constexpr std::int64_t kMaxTasks = 100'000;

// Tasks a job that gets `totals` has. Errors: out_of_range (more than kMaxTasks and than slots),
// unsupported (per_resource).
Result<std::int64_t> task_count(const resource::Task& task, const Totals& totals);

// Which ranks the tasks of a node have: consecutive ones, or those that come to it when ranks are
// dealt to the nodes in turn.
enum class Distribution : std::uint8_t { block, cyclic };

// An array (wishes.array) has the number `first`, its `count` tasks have those behind it.
struct Submission {
  JobId first;
  std::uint64_t count = 1;
  bool is_instance = false;
  std::shared_ptr<const resource::Jobspec> spec;
  std::vector<std::string> argv;  // what it runs instead of its spec's command; empty: that
  std::string name;               // job.name, else the command's last path component
  std::string queue;
  std::string command;    // for display, cut at 200 bytes or a little before, between characters
  std::string resources;  // for display
  Totals totals;
  std::int64_t ntasks = 1;
  Duration limit = 0;  // ms; 0: none asked for
  // shell.options: files as asked for, "" for the default
  std::string input, output, error;
  std::string input_tasks;   // whose standard input a client sends: "all" or an idset; "": nobody's
  bool label = false;        // label-io
  bool slurm_names = false;  // slurm-names: tasks find SLURM_* beside HOLON_*
  bool kill_on_bad_exit = false;  // exit-on-error: a task that fails ends all
  // shell.options.signal, as Flux has it: a signal to all tasks, ms before the limit; 0: none.
  int warn_signal = 0;
  Duration warn_before = 0;
  std::vector<std::string> rlimits;  // shell.options.rlimit: "nofile=4096", "core=unlimited"
  int file_mask = -1;                // shell.options.umask, "027"; negative: none is asked for
  Distribution distribution = Distribution::block;  // shell.options.taskmap
  std::string mpi;  // auto, pmi1, pmi2, pmix, none; "": as the instance has it (job.mpi)
  SchedulingOptions wishes;
  // attributes.user: what the submitter says about the job beside what it needs, for policies;
  // null: nothing. Only texts and numbers are kept.
  std::shared_ptr<const std::map<std::string, std::string>> attributes;
  // attributes.system.files: they are on each of its nodes while its tasks run; null: none.
  std::shared_ptr<const std::vector<resource::AddedFile>> files;
  std::vector<Dependency> dependencies;
};

// Of this task of an array; nothing for the array as a whole, and for jobs that are no array.
// REQUIRES: `id` is one of its.
std::optional<std::int64_t> array_index(const Submission& submission, JobId id);
// `text` with {{array.id}}, {{array.index}}, {{entry}} and {{entry.FIELD}} replaced, of a task of
// an array; the same requirement. `in_path`: what an entry puts in is one part of a path.
std::string with_words_of(const Submission& submission, JobId id, const std::string& text,
                          bool in_path = false);
// What a task of an array was given (HOLON_ENTRY); "": nothing. The same requirement.
std::string entry_of(const Submission& submission, JobId id);
// HOLON_ARRAY_ID, HOLON_ARRAY_INDEX, HOLON_ARRAY_COUNT, HOLON_ENTRY, and what Slurm calls these
// where it is asked for; the same requirement.
std::map<std::string, std::string> array_variables(const Submission& submission, JobId id);

// It runs another command than its spec says. REQUIRES: argv is not empty.
void set_command(Submission& submission, std::vector<std::string> argv);

// Parses and reads. Errors: invalid_argument (the jobspec; no command; attributes of ours that do
// not fit), and those of task_count.
Result<Submission> make_submission(const std::string& jobspec, bool is_instance);
// The same of a journal: the jobspec was within its bounds when it came, and may have grown since.
Result<Submission> kept_submission(const std::string& jobspec, bool is_instance);

}  // namespace holon::instance
