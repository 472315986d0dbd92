// OpenPBS, PBS Professional and Torque, as qsub(1B) and pbs_job_attributes(7B) document their
// variables.
#include "batch/systems.hpp"

namespace holon::batch {
namespace {

bool is_torque(const Environment& environment) {
  return environment.at("PBS_VERSION").starts_with("TORQUE") || environment.has("PBS_NUM_PPN");
}

}  // namespace

bool is_in_pbs(const Environment& environment) {
  return environment.has("PBS_JOBID");
}

void read_pbs(const Environment& environment, Allocation& allocation) {
  allocation.job = environment.at("PBS_JOBID");
  allocation.job_name = environment.at("PBS_JOBNAME");
  allocation.user = first_of(environment, {"PBS_O_LOGNAME", "USER"});
  if (const auto file = file_in(environment, {"PBS_NODEFILE"}, allocation))
    allocation.nodes = count_lines(*file);
  // A line is a CPU for Torque, and a place for an MPI process for the others.
  allocation.torque = is_torque(environment);
  if (!allocation.torque)
    for (Node& node : allocation.nodes) node.cpus = 0;
  const bool is_script = environment.at("PBS_NODENUM") == "0";
  if (is_script && !allocation.nodes.empty()) {
    allocation.node = allocation.nodes[0].name;
    // NCPUS is of the first chunk, which is all there is on the script's node if there is one only.
    if (const auto cpus = number_in(environment, "NCPUS", allocation);
        cpus && allocation.nodes.size() == 1)
      allocation.cpus_here = *cpus;
  }
  if (const auto seconds = number_in(environment, "PBS_WALLTIME", allocation))
    allocation.walltime = static_cast<std::int64_t>(*seconds);
}

}  // namespace holon::batch
