// outer_variables.hpp - what the environment says of the job and the step around an instance, and
// what of it a task of the instance must not find.
//
// A program that finds where the job around it runs, how much it has, or which of its processes it
// is, acts upon it: MPICH's mpiexec starts processes on the nodes of the job around, Open MPI's
// mpirun asks its batch system, and every task takes itself for rank 0 of 4.
// docs/environment.md has the same table for people; a test holds the two against each other.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/environment.hpp"

namespace holon::batch {

enum class Says {
  place,  // which process of the step around this one is
  share,  // which nodes the job around has, how much of them, and how to start something there
  name,   // the job's number, account, submission; misleads nobody
};

// A row of the table. `pattern` may end in '*'. If several match a name, the longest holds.
struct OuterVariable {
  std::string_view pattern;
  Says says;
};
std::span<const OuterVariable> outer_variables();

// The names in `environment` that say `what`, in their order.
std::vector<std::string> variables_that_say(const Environment& environment, Says what);
// Is the variable kept from tasks of an instance? False for a name without a row.
bool is_kept_from_tasks(std::string_view variable);

}  // namespace holon::batch
