// nodes.hpp - which nodes an instance gets, and how the agents of the other nodes are started.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "batch/step.hpp"
#include "config/config.hpp"
#include "instance/basics/options.hpp"
#include "instance/basics/surroundings.hpp"

namespace holon::instance {

struct Endpoint;

struct Nodes {
  std::vector<std::string> hosts;  // by rank, this one first; empty for an instance of one node
  batch::Step step;                // starts the agents of the other nodes
  // A file for the invitation in the user's home, which the nodes are taken to share, for a
  // launcher that hands over neither input nor environment; "": the launcher does.
  std::string invitation_file;
  // For tasks that meet without PMI (rendezvous.hpp): the name under which the others ask for the
  // invitation by MUNGE, and the socket of its daemon ("": libmunge's own). No name: nobody asks.
  std::string handover, munge_socket;
  // Where the broker listens for the agents; nullopt: as instance.address says.
  std::optional<std::string> address;
  bool may_grow = false;  // the only node may be joined by others later: nothing listens before
  // Made already by tasks that have met (rendezvous.hpp); nullptr: the supervisor makes it.
  std::shared_ptr<const Endpoint> endpoint;
};

// The named hosts, by ssh; else those of the batch system's allocation, by its launcher in one
// step, unless `options.here`. Errors: invalid_argument (hosts that cannot be used), unsupported,
// not_found (an allocation of several nodes that nothing can be started on).
Result<Nodes> find_nodes(const StartOptions& options, const config::Config& config,
                         const Surroundings& around, const std::string& binary);

// The words of `--hosts LIST` ("n[1-4],login"), or the first words of a file's lines. Errors:
// invalid_argument with the place in the text.
Result<std::vector<std::string>> read_hosts_list(const std::string& list);
Result<std::vector<std::string>> read_hosts_file(const std::string& file);
// All that is written to a pipe until its last writer closes it. Errors: timed_out (nobody has
// written for `patience` ms), out_of_range, system.
Result<std::string> read_pipe(const std::string& file, Duration patience);

}  // namespace holon::instance
