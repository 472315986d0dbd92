#include "tests/system/mpi_program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace holon::system_test {
namespace {

constexpr const char* kRing = R"(#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, token = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += rank;
  if (rank + 1 < size) MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d of %d: sum %d, token %d\n", rank, size, sum, token);
  fflush(stdout);
  if (argc > 1 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (argc > 1) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
)";

}  // namespace

std::string why_not(const MpiKind& kind) {
  if (access(kind.compiler.c_str(), X_OK) == 0 && access(kind.header.c_str(), R_OK) == 0) return {};
  return "no MPI program can be compiled here: apt-get install " + kind.package;
}

void compile(Sandbox& sandbox, const MpiKind& kind) {
  const auto source = sandbox.write_file("ring.c", kRing);
  Process compiler({kind.compiler, source, "-o", "ring." + kind.name}, sandbox.environment(),
                   sandbox.folder());
  const Ran ran = compiler.finish();
  ASSERT_EQ(ran.code, 0) << ran.err;
}

}  // namespace holon::system_test
