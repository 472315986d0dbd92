// serve.hpp - the starter: the process of `holon start --system` that stays root.
#pragma once
#include <vector>

#include "starter/account.hpp"

namespace holon::starter {

// Serves these connections, ends of SOCK_SEQPACKET pairs whose other ends are with the supervisor
// and its agents, until all of them are closed and all that was started has ended. REQUIRES: root,
// one thread. All other descriptors but 0 to 2 are closed.
[[noreturn]] void serve(const std::vector<int>& lines, const Settings& settings);

}  // namespace holon::starter
