// nodes.hpp - which nodes an instance gets, and how the agents of those besides this one are
// started.
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
  std::vector<std::string> hosts;  // by rank, this one first; of an instance of one node: empty
  batch::Step step;                // starts the agents of the others
  // A file for the invitation in the user's home, which the nodes are taken to share, where the
  // launcher hands over neither input nor environment; "": it does.
  std::string invitation_file;
  // Of tasks that meet without PMI (rendezvous.hpp): the name under which the others ask for the
  // invitation by MUNGE, and the socket of its daemon ("": libmunge's own). Without a name: nobody
  // does.
  std::string handover, munge_socket;
  // Where the broker listens for them; nullopt: as instance.address has it.
  std::optional<std::string> address;
  // Made already, by tasks that have met (rendezvous.hpp); nullptr: the supervisor makes it.
  std::shared_ptr<const Endpoint> endpoint;
};

// The hosts that were named, by ssh; else those of the batch system's allocation, by its launcher
// in one step, unless `options.here`. Errors: invalid_argument (hosts named that cannot be used),
// unsupported, not_found (an allocation of several nodes that nothing can be started on).
Result<Nodes> find_nodes(const StartOptions& options, const config::Config& config,
                         const Surroundings& around, const std::string& binary);

// The words of `--hosts LIST` ("n[1-4],login") or, of a file, its lines' first words. Errors:
// invalid_argument with the place in what is told.
Result<std::vector<std::string>> read_hosts_list(const std::string& list);
Result<std::vector<std::string>> read_hosts_file(const std::string& file);
// All that is written to a pipe until its last writer has closed it. Errors: timed_out (nobody has
// written for `patience` ms), out_of_range, system.
Result<std::string> read_pipe(const std::string& file, Duration patience);

}  // namespace holon::instance
