// Slurm, as sbatch(1), srun(1) and salloc(1) document its variables; recorded with 22.05.
#include <fmt/core.h>

#include "batch/systems.hpp"

namespace holon::batch {
namespace {

constexpr std::uint64_t kMegabyte = 1024 * 1024;

void read_nodes(const Environment& environment, Allocation& allocation) {
  const auto names = expand_hosts(first_of(environment, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
  if (!names) return doubt(allocation, "SLURM_JOB_NODELIST", names.error());
  auto cpus = expand_counts(environment.at("SLURM_JOB_CPUS_PER_NODE"));
  if (!cpus) {
    doubt(allocation, "SLURM_JOB_CPUS_PER_NODE", cpus.error());
  } else if (!cpus->empty() && cpus->size() != names->size()) {
    doubt(allocation, "SLURM_JOB_CPUS_PER_NODE",
          {Errc::invalid_argument,
           fmt::format("it has {} nodes, and SLURM_JOB_NODELIST {}", cpus->size(), names->size()),
           {}});
    cpus->clear();
  }
  for (std::size_t i = 0; i < names->size(); ++i)
    allocation.nodes.push_back({(*names)[i], cpus && i < cpus->size() ? (*cpus)[i] : 0});
}

// Reads the memory; --mem=0 is all of the node's, as no --mem is where memory is no consumable.
void read_memory(const Environment& environment, Allocation& allocation) {
  if (const auto node = number_in(environment, "SLURM_MEM_PER_NODE", allocation)) {
    allocation.memory_here = *node * kMegabyte;
  } else if (const auto cpu = number_in(environment, "SLURM_MEM_PER_CPU", allocation)) {
    allocation.memory_here = *cpu * kMegabyte * allocation.cpus_here;
  }
}

}  // namespace

bool is_in_slurm(const Environment& environment) {
  return environment.has("SLURM_JOB_ID") || environment.has("SLURM_JOBID");
}

void read_slurm(const Environment& environment, Allocation& allocation) {
  allocation.job = first_of(environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  allocation.step = first_of(environment, {"SLURM_STEP_ID", "SLURM_STEPID"});
  allocation.job_name = environment.at("SLURM_JOB_NAME");
  allocation.user = first_of(environment, {"SLURM_JOB_USER", "USER"});
  read_nodes(environment, allocation);
  // salloc runs its command where it was typed, on none of the nodes perhaps: SLURMD_NODENAME is
  // not set then.
  allocation.node = environment.at("SLURMD_NODENAME");
  allocation.cpus_here = number_in(environment, "SLURM_CPUS_ON_NODE", allocation).value_or(0);
  read_memory(environment, allocation);
  read_gpus_of_slurm(environment, allocation);
  if (const auto end = number_in(environment, "SLURM_JOB_END_TIME", allocation))
    allocation.ends_at = static_cast<std::int64_t>(*end);
  if (number_in(environment, "SLURM_HET_SIZE", allocation).value_or(1) > 1)
    doubt(allocation, "SLURM_HET_SIZE=" + environment.at("SLURM_HET_SIZE"),
          {Errc::unsupported,
           "of a heterogeneous job only the first component's nodes are used",
           {}});
}

}  // namespace holon::batch
