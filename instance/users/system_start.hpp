// system_start.hpp - the beginning of an instance that serves several users: root makes its places
// and the starter, and is root no more.
#pragma once
#include "base/result.hpp"
#include "config/config.hpp"
#include "instance/options.hpp"
#include "instance/remote/door.hpp"

namespace holon::instance {

// Connections to the starter, this process's.
struct StarterEnds {
  int supervisor = -1, agent = -1;
};

// Where users of other machines connect (access.munge): the address and key are the same with each
// start. Errors: as of make_door(), and of the file for the key in `state_dir`.
Result<Door> door_for_users(const std::string& state_dir, const config::Config& config);

// Makes the runtime place and the state directory, the account's; forks the starter; becomes the
// account for good, with an environment of its own. REQUIRES: one thread. Errors: denied (this
// process is not root's), not_found (no such account, a user of access.users that nobody knows),
// invalid_argument (what cannot be together with --system), system.
// `detached`: nobody reads what the starter writes to its standard error.
Result<StarterEnds> begin_for_users(StartOptions& options, const config::Config& config,
                                    bool detached);

}  // namespace holon::instance
