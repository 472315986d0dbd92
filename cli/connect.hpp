// connect.hpp - from a command line to the instance it is about.
#pragma once
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "client/client.hpp"
#include "client/find_instance.hpp"

namespace holon::cli {

using client::Client;

// The instance named by -i, HOLON_URI or, without both, the user's only running root instance.
// Waits for a broker that is being started again, and says so. Errors: those of Client::connect().
Result<Client> connect_to_instance(const Invocation& call);

// Like connect_to_instance(), to submit. `for_user`: the user to run the jobs as; "": the caller.
// Errors: also unsupported (of an instance of one user).
Result<Client> connect_to_submit(const Invocation& call, const std::string& for_user);

// The jobs that a command line names, and the instance they are in.
struct SelectedJobs {
  Client client;
  std::vector<std::uint64_t> ids;
};
// Reads `words` (cli/paths.hpp) and connects. Errors: those of select_jobs() and Client::connect().
Result<SelectedJobs> connect_to_jobs(Invocation& call, const std::vector<std::string>& words);

// The numbers of the array's tasks with these indices (an idset; "": all). Errors: those of
// Client::tasks().
Result<std::vector<std::uint64_t>> tasks_of(Client& client, std::uint64_t array,
                                            const std::string& indices);

struct SelectedJob {
  Client client;
  std::uint64_t id = 0;
};
// Like connect_to_jobs(), for a verb that is about one job. Errors: also invalid_argument where
// `word` names several.
Result<SelectedJob> connect_to_job(Invocation& call, const std::string& word);

// The path of the client's instance; if `recursive`, also of those below it that answer. Errors:
// those of Client::tree(), not_found (`recursive`, and it has ended).
Result<std::vector<std::string>> living_instances(Client& client, bool recursive);

// Describes an instance in one line: who, since when, what runs, where its state is. Asks the
// instance, and waits a second for the answer at most.
std::string describe(const client::RunningInstance& instance);

}  // namespace holon::cli
