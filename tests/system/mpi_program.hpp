// mpi_program.hpp - an MPI program in C that a test compiles: a ring and a sum over all ranks.
#pragma once
#include <string>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {

// An MPI as Debian installs it beside others.
struct MpiKind {
  std::string name, compiler, header, package;
};
inline const MpiKind kMpich = {"mpich", "/usr/bin/mpicc.mpich",
                               "/usr/include/x86_64-linux-gnu/mpich/mpi.h", "libmpich-dev"};
inline const MpiKind kOpenMpi = {"openmpi", "/usr/bin/mpicc.openmpi",
                                 "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h",
                                 "libopenmpi-dev"};

// Why no program can be compiled with it here; "": one can.
std::string why_not(const MpiKind& kind);

// Makes ring.NAME in the sandbox. Each rank prints "RANK of SIZE: sum S, token T": the sum of all
// ranks, and that of those up to its own. With an argument rank 1 aborts with code 7 after that,
// and the others wait for it.
void compile(Sandbox& sandbox, const MpiKind& kind);

}  // namespace holon::system_test
