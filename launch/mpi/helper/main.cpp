// holon-pmix: the PMIx server of a job as a program of its own, for a static holon, which cannot
// load libpmix.
#include "launch/messages.hpp"
#include "launch/mpi/pmix_server.hpp"
#include "launch/tasks/spawn.hpp"

int main() {
  return holon::launch::pmix_server_main(holon::launch::kWireUpDescriptor);
}
