// holon broker, holon agent, holon remains: the processes of an instance, started by `holon start`
// and its agent and not by people.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ostream>

#include "batch/outer_variables.hpp"
#include "cli/options/start_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"
#include "instance/assembly/remote_agent.hpp"
#include "instance/basics/options.hpp"
#include "instance/tree/dead_child.hpp"
#include "launch/agent.hpp"
#include "launch/files/place_files.hpp"
#include "launch/mpi/pmix_server.hpp"
#include "launch/remote/handed.hpp"
#include "launch/tasks/spawn.hpp"
#include "transport/secret.hpp"

namespace holon::cli {

int verb_broker(Invocation& call) {
  std::string runtime_dir;
  std::int64_t ready = -1, lifeline = -1, pulse = -1, secrets = -1, socket = -1;
  Parser parser("broker", "the process that schedules; made by start");
  parser.required("RUNTIME_DIR", runtime_dir, "where its options and sockets are")
      .option("--ready", ready, "FD", "gets the uri once jobs can be run")
      .option("--lifeline", lifeline, "FD", "end of file means that the supervisor is gone")
      .option("--pulse", pulse, "FD", "memory in which it shows the supervisor that it works")
      .option("--secrets", secrets, "FD", "what proves its agent to it, and it to its parent")
      .option("--socket", socket, "FD", "listens for its agents on other nodes")
      .example("holon broker DIR --ready 3 --lifeline 4 --pulse 5 --secrets 6",
               "as the supervisor does it");
  if (const auto code = parser.parse(call)) return *code;
  return instance::broker_main(
      runtime_dir, {static_cast<int>(ready), static_cast<int>(lifeline), static_cast<int>(pulse),
                    static_cast<int>(secrets), static_cast<int>(socket)});
}

namespace {

// Leaves the outer job's variables: a job whose jobspec has no environment inherits the agent's.
void leave_outer_job() {
  for (const auto says : {batch::Says::place, batch::Says::share})
    for (const auto& name : batch::variables_that_say(batch::current_environment(), says))
      unsetenv(name.c_str());
}

int be_handed_agent(Invocation& call, int descriptor, int starter) {
  const auto bytes = transport::take_secret(descriptor);
  auto options = bytes ? launch::parse_handed(*bytes) : tl::unexpected(bytes.error());
  if (!options) return report(call, "agent", options.error());
  options->starter = starter;
  leave_outer_job();
  return launch::agent_main(*options);
}

}  // namespace

int verb_agent(Invocation& call) {
  launch::AgentOptions options;
  instance::RemoteAgentOptions remote;
  bool joins = false;
  std::int64_t rank = -1, supervisor = 0, secret = -1, starter = -1, handed = -1;
  Parser parser("agent", "the process that runs tasks; made by start");
  parser.option("--broker-uri", options.broker_uri, "URI", "whom to work for");
  parser.option("--rank", rank, "N", "its number in the instance");
  parser.option("--hostname", options.hostname, "NAME", "what this node is called");
  parser.option("--orphan-timeout", options.orphan_timeout, "MS",
                "how long it goes on without a broker");
  parser.option("--secret", secret, "FD", "what proves it to the broker");
  parser.option("--cpuset", options.cpuset, "LIST", "numbering frame of the core numbers");
  parser.option("--cgroup", options.cgroup, "DIR", "where each job gets a cgroup of its own");
  parser.option("--supervisor", supervisor, "PID", "the process it does not outlive");
  parser.option("--starter", starter, "FD", "who starts tasks as their users");
  parser.flag("--join", joins,
              "on another node than the broker's: an invitation comes by standard input");
  parser.option("--handed", handed, "FD",
                "all of this, from the process that keeps it alive there");
  parser.option("--invitation", remote.invitation, "FILE", "or in this file");
  parser.option("--log-level", options.log_level, "LEVEL", "trace, debug, info, warn, error, off");
  parser.example("holon agent --broker-uri ipc:///run/user/1000/holon-x/broker --rank 0",
                 "as the supervisor does it");
  if (const auto code = parser.parse(call)) return *code;
  if (joins) {
    remote.rank = rank;
    remote.log_level = options.log_level;
    put_own_folder_in_path();
    return instance::remote_agent_main(remote);
  }
  if (handed >= 0)
    return be_handed_agent(call, static_cast<int>(handed), static_cast<int>(starter));
  rank = std::max<std::int64_t>(0, rank);
  if (options.broker_uri.empty())
    return report(call, "agent", {Errc::invalid_argument, "an address is missing", "--broker-uri"});
  if (rank > UINT32_MAX)
    return report(call, "agent", {Errc::invalid_argument, "there are not so many", "--rank"});
  options.rank = static_cast<std::uint32_t>(rank);
  options.supervisor = static_cast<pid_t>(supervisor);
  options.starter = static_cast<int>(starter);
  if (secret >= 0) {
    auto shown = transport::take_secret(static_cast<int>(secret));
    if (!shown) return report(call, "agent", shown.error());
    options.secret = std::move(*shown);
  }
  leave_outer_job();
  return launch::agent_main(options);
}

int verb_pmix(Invocation& call) {
  Parser parser("pmix", "lets processes of Open MPI find each other; made by agent");
  parser.note("It speaks with the agent over the descriptor it has inherited, 4.")
      .example("holon pmix", "as the agent does it");
  if (const auto code = parser.parse(call)) return *code;
  return launch::pmix_server_main(launch::kWireUpDescriptor);
}

int verb_files(Invocation& call) {
  std::string base;
  bool is_left = false;
  Parser parser("files", "writes the files that were added to a job; made by agent");
  parser.required("FOLDER", base, "where jobs have folders of their own")
      .flag("--left", is_left, "remove those of jobs that are gone instead")
      .note(
          "Reads the files from standard input, and answers over the descriptor it has inherited, "
          "4.")
      .example("holon files /tmp", "as the agent does it for another user");
  if (const auto code = parser.parse(call)) return *code;
  return is_left ? launch::remove_files_main(base)
                 : launch::place_files_main(base, launch::kWireUpDescriptor);
}

int verb_dead_child(Invocation& call) {
  instance::DeadChildOptions options;
  std::int64_t job = 0;
  Parser parser("remains", "what an instance that has ended left of its jobs, in msgpack");
  parser.required("STATE_DIR", options.state_dir, "its state directory")
      .required("PATH", options.path, "which instance it was")
      .option("--from", options.from, "PLACE", "go on where the answer before this one ended")
      .option("--job", job, "ID", "all that is kept about this job instead")
      .example("holon remains ~/.local/state/holon/x/children/1 /1",
               "as its parent's agent does it");
  if (const auto code = parser.parse(call)) return *code;
  options.job = static_cast<std::uint64_t>(std::max<std::int64_t>(0, job));
  return instance::dead_child_main(options, call.io.out);
}

}  // namespace holon::cli
