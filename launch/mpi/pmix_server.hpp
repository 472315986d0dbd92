// pmix_server.hpp - the PMIx server of one job on one node: `holon pmix`, a hidden verb, a process
// of the job's own that an agent starts before the tasks. Open MPI's processes find each other by
// it. A static holon cannot load libpmix: beside it the same is a program of its own (helper/).
//
// It is a process, and not a part of the agent: the library reads with its own threads what tasks
// send, and harm from that ends only one job. The library is loaded when it is needed: holon runs
// without it.
#pragma once

namespace holon::launch {

// Speaks pmix_messages.hpp over `fd` until the agent closes its end. Returns the exit code.
int pmix_server_main(int fd);

}  // namespace holon::launch
