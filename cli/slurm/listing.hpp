// listing.hpp - the jobs that a command of Slurm's is about.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "cli/paths.hpp"
#include "cli/slurm/options.hpp"
#include "cli/slurm/tools.hpp"
#include "cli/slurm/words.hpp"
#include "client/client.hpp"

namespace holon::cli::slurm {

// Connects to the instance whose jobs the command is about: of a script that sbatch has started,
// and of its steps, that in which the script is a job. Errors: those of Client::connect().
Result<client::Client> connect(Call& call);
// The path of that instance as `holon -i` takes it; "": the one around.
std::string path_of_jobs();

struct Question {
  std::vector<JobRef> jobs;   // empty: all; a job named here may be over
  std::vector<State> states;  // of these; empty: all
  bool with_ended = false;    // jobs that are over, too
  bool each_task = false;     // tasks that wait have a row each
  std::vector<std::string> users, names, queues, accounts, qos;  // empty: all
  std::vector<std::string> hosts;     // that hold, or held, at least one of these nodes; empty: all
  std::int64_t since = 0, until = 0;  // ended then or later; began before
};

// Reads what squeue, scancel and sacct have in common: --jobs, --user, --me, --name, --partition,
// --account, --qos, --nodelist, --states. Errors: invalid_argument.
Result<Question> question_in(const Options& options);

struct Row {
  msg::JobRecord job;
  std::string waiting = {};  // of an array: the indices of the tasks that wait, as one row
};

// In the order of the ids. Errors: invalid_argument (no such job), those of the client.
Result<std::vector<Row>> rows_of(client::Client& client, const Question& question);

// The numbers of these jobs, tasks of arrays among them. Errors: not_found.
Result<std::vector<std::uint64_t>> numbers_of(client::Client& client,
                                              const std::vector<JobRef>& jobs);

}  // namespace holon::cli::slurm
