// Grid Engine, as submit(1) and sge_pe(5) document its variables; recorded with 8.1.9.
#include "batch/systems.hpp"

namespace holon::batch {

// JOB_ID is a name that others use, too; SGE_TASK_ID is set in every job ("undefined" where it is
// no array).
bool is_in_grid_engine(const Environment& environment) {
  return environment.has("JOB_ID") && environment.has("SGE_TASK_ID");
}

void read_grid_engine(const Environment& environment, Allocation& allocation) {
  allocation.job = environment.at("JOB_ID");
  const std::string task = environment.at("SGE_TASK_ID");
  if (!task.empty() && task != "undefined") allocation.job += "." + task;
  allocation.job_name = environment.at("JOB_NAME");
  allocation.user = first_of(environment, {"LOGNAME", "USER"});
  // Reads lines of "node slots queue processors".
  if (const auto file = file_in(environment, {"PE_HOSTFILE"}, allocation)) {
    auto nodes = read_pairs(*file, 4);
    if (nodes)
      allocation.nodes = std::move(*nodes);
    else
      doubt(allocation, "PE_HOSTFILE", nodes.error());
  }
  allocation.node = environment.at("HOSTNAME");
  read_gpus_of_grid_engine(environment, allocation);
  if (allocation.nodes.empty() && !allocation.node.empty())
    allocation.nodes.push_back(
        {allocation.node, number_in(environment, "NSLOTS", allocation).value_or(0)});
}

}  // namespace holon::batch
