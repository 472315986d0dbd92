// system_start.hpp - the beginning of an instance that serves several users: root makes its places
// and the starter, and is root no more.
#pragma once
#include "base/result.hpp"
#include "config/config.hpp"
#include "instance/assembly/endpoint.hpp"
#include "instance/basics/options.hpp"

namespace holon::instance {

// Connections to the starter, this process's.
struct StarterEnds {
  int supervisor = -1, agent = -1;
};

// Where users of other machines connect (access.munge): the address and key are the same with each
// start. Errors: as of make_endpoint(), and of the file for the key in `state_dir`.
// `nodes`: how many the instance has that others may join; 0: nobody may.
Result<Endpoint> endpoint_for_users(const std::string& state_dir, const config::Config& config,
                                    std::size_t nodes);

// Makes the runtime place and the state directory, the account's; forks the starter; becomes the
// account for good, with an environment of its own. REQUIRES: one thread. Errors: denied (this
// process is not root's), not_found (no such account, a user of access.users that nobody knows),
// invalid_argument (what cannot be together with --system), system.
// `items`: what the configuration is from. `detached`: nobody reads what the starter writes to its
// standard error.
Result<StarterEnds> begin_for_users(StartOptions& options, const config::Config& config,
                                    const std::vector<config::ConfItem>& items, bool detached);

// The same of a node that joins such an instance: its starter's settings are those of root here.
// `account`, `place`: as of StartOptions. Errors: as of begin_for_users().
Result<StarterEnds> begin_node_for_users(const std::string& account, const std::string& place,
                                         const config::Config& config,
                                         const std::vector<config::ConfItem>& items);

}  // namespace holon::instance
