// provision.hpp - batch jobs that holon itself submits: the commands of a batch system that submit,
// list and take one back, as words, and readers of what they answer.
//
// Slurm (sbatch, squeue, scancel) and Grid Engine (qsub, qstat, qdel) are used as they were tried;
// PBS as its documentation has it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "batch/allocation.hpp"

namespace holon::batch {

// Can batch jobs be asked for? True for slurm, grid_engine and pbs.
bool can_submit(System system);

struct BatchRequest {
  std::string name;               // to find it by; letters, digits, '-'
  std::string script;             // a file
  std::string output;             // the file that gets what the script writes
  std::uint32_t nodes = 1;        // with Grid Engine 1
  std::int64_t walltime = 0;      // seconds
  std::vector<std::string> more;  // options of the batch system, in front of the script
};
// The command that submits. REQUIRES: can_submit().
std::vector<std::string> submit_command(System system, const BatchRequest& request);
// The job's id, as the system's commands take it. Errors: invalid_argument, the answer quoted.
Result<std::string> read_submitted(System system, std::string_view answer);

// A shell script without its first line: each of the batch job's nodes joins by what `join` says,
// which is one process.
std::string script_for(System system, const std::vector<std::string>& join, std::uint32_t nodes);

struct ListedJob {
  enum class State { queued, running };
  std::string id, name;
  State state = State::queued;
  bool operator==(const ListedJob&) const = default;
};
// The command that lists all of the user's batch jobs that are not over.
std::vector<std::string> list_command(System system, const std::string& user);
// Reads its answer. Errors: invalid_argument (another answer than the documented one).
Result<std::vector<ListedJob>> read_listed(System system, std::string_view answer);

std::vector<std::string> cancel_command(System system, const std::vector<std::string>& ids);

}  // namespace holon::batch
