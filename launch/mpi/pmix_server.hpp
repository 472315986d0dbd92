// pmix_server.hpp - the PMIx server of one job on one node: `holon pmix`, a hidden verb, a process
// of the job's own that an agent starts before the tasks. Open MPI's processes find each other by
// it.
//
// A process, and not a part of the agent: the library reads what tasks send with threads of its
// own, and what that may do to it ends one job and no other. The library is loaded when it is
// needed: holon runs without it.
#pragma once

namespace holon::launch {

// Speaks pmix_messages.hpp over `fd` until the agent closes its end. Returns the exit code.
int pmix_server_main(int fd);

}  // namespace holon::launch
