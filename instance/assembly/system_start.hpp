// system_start.hpp - the beginning of an instance that serves several users: root makes its
// directories and the starter, and then gives up being root.
#pragma once
#include "base/result.hpp"
#include "config/config.hpp"
#include "instance/assembly/endpoint.hpp"
#include "instance/basics/options.hpp"

namespace holon::instance {

// This process's connections to the starter.
struct StarterEnds {
  int supervisor = -1, agent = -1;
};

// Where users of other machines connect (access.munge): address and key are the same at each start.
// `nodes`: how many nodes others may join with; 0: none. Errors: as of make_endpoint(), and of the
// file for the key in `state_dir`.
Result<Endpoint> endpoint_for_users(const std::string& state_dir, const config::Config& config,
                                    std::size_t nodes);

// Makes the runtime place and the state directory, owned by the account; forks the starter; becomes
// the account for good, with an environment of its own. REQUIRES: one thread. `items`: the origin
// of the configuration. `detached`: nobody reads the starter's standard error. Errors: denied (this
// process is not root's), not_found (no such account, an unknown user in access.users),
// invalid_argument (what cannot be together with --system), system.
Result<StarterEnds> begin_for_users(StartOptions& options, const config::Config& config,
                                    const std::vector<config::ConfItem>& items, bool detached);

// Likewise for a node that joins such an instance: its starter's settings are those of root here.
// `account`, `place`: as in StartOptions. Errors: as of begin_for_users().
Result<StarterEnds> begin_node_for_users(const std::string& account, const std::string& place,
                                         const config::Config& config,
                                         const std::vector<config::ConfItem>& items);

}  // namespace holon::instance
