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
  name,   // which job it is: its number, account, submission; nobody is misled by that
};

// A row of the table. `pattern` may end in '*'. Of several that match a name the longest holds.
struct OuterVariable {
  std::string_view pattern;
  Says says;
};
std::span<const OuterVariable> outer_variables();

// Those of `environment` that say `what`, in their order.
std::vector<std::string> variables_that_say(const Environment& environment, Says what);
// Does a task of an instance go without the variable? Of a name that no row has: no.
bool is_kept_from_tasks(std::string_view variable);

}  // namespace holon::batch
