#include "batch/outer_variables.hpp"

#include <algorithm>

namespace holon::batch {
namespace {

constexpr OuterVariable kVariables[] = {
    // Slurm. Of its many variables the few that only name the job are kept.
    {"SLURM_*", Says::share},
    {"SLURMD_*", Says::share},
    {"SLURM_PROCID", Says::place},
    {"SLURM_LOCALID", Says::place},
    {"SLURM_NODEID", Says::place},
    {"SLURM_GTIDS", Says::place},
    {"SLURM_TASK_PID", Says::place},
    {"SLURM_JOB_ID", Says::name},
    {"SLURM_JOB_NAME", Says::name},
    {"SLURM_JOB_ACCOUNT", Says::name},
    {"SLURM_JOB_PARTITION", Says::name},
    {"SLURM_JOB_QOS", Says::name},
    {"SLURM_JOB_RESERVATION", Says::name},
    {"SLURM_JOB_COMMENT", Says::name},
    {"SLURM_JOB_USER", Says::name},
    {"SLURM_JOB_GROUP", Says::name},
    {"SLURM_JOB_UID", Says::name},
    {"SLURM_JOB_GID", Says::name},
    {"SLURM_JOB_START_TIME", Says::name},
    {"SLURM_JOB_END_TIME", Says::name},
    {"SLURM_ARRAY_*", Says::name},
    {"SLURM_SUBMIT_*", Says::name},
    {"SLURM_RESTART_COUNT", Says::name},
    {"SLURM_CLUSTER_NAME", Says::name},
    {"SLURM_CLUSTERS", Says::name},
    {"SLURM_WORKING_CLUSTER", Says::name},
    {"SLURM_CONF", Says::name},
    {"SLURM_JWT", Says::name},
    {"SLURM_TIME_FORMAT", Says::name},
    // PBS and Torque. Without PBS_ENVIRONMENT nobody takes a process for one of a job.
    {"PBS_NODEFILE", Says::share},
    {"PBS_GPUFILE", Says::share},
    {"PBS_MICFILE", Says::share},
    {"PBS_NUM_NODES", Says::share},
    {"PBS_NUM_PPN", Says::share},
    {"PBS_NP", Says::share},
    {"PBS_NODENUM", Says::place},
    {"PBS_VNODENUM", Says::place},
    {"PBS_TASKNUM", Says::place},
    {"PBS_MOMPORT", Says::share},
    {"PBS_JOBCOOKIE", Says::share},
    {"PBS_ENVIRONMENT", Says::share},
    {"NCPUS", Says::share},
    // LSF.
    {"LSB_HOSTS", Says::share},
    {"LSB_MCPU_HOSTS", Says::share},
    {"LSB_DJOB_*", Says::share},
    {"LSB_AFFINITY_HOSTFILE", Says::share},
    {"LSB_RANK_HOSTFILE", Says::share},
    {"LSB_BIND_*", Says::share},
    {"LSB_MAX_NUM_PROCESSORS", Says::share},
    {"LSB_EFFECTIVE_RSRCREQ", Says::share},
    {"LSB_PJL_*", Says::share},
    {"LSF_PM_*", Says::place},
    {"LS_JOBPID", Says::place},
    // Grid Engine. JOB_ID and SGE_TASK_ID name the job.
    {"PE_HOSTFILE", Says::share},
    {"PE", Says::share},
    {"NHOSTS", Says::share},
    {"NSLOTS", Says::share},
    {"NQUEUES", Says::share},
    {"SGE_BINDING", Says::share},
    {"SGE_HGR_*", Says::share},
    // OAR, Cobalt, LoadLeveler.
    {"OAR_NODEFILE", Says::share},
    {"OAR_NODE_FILE", Says::share},
    {"OAR_FILE_NODES", Says::share},
    {"OAR_RESOURCE_FILE", Says::share},
    {"OAR_RESOURCE_PROPERTIES_FILE", Says::share},
    {"OAR_CPUSET", Says::share},
    {"COBALT_NODEFILE", Says::share},
    {"COBALT_PARTNAME", Says::share},
    {"COBALT_PARTSIZE", Says::share},
    {"LOADL_HOSTFILE", Says::share},
    {"LOADL_PROCESSOR_LIST", Says::share},
    {"LOADL_TOTAL_TASKS", Says::share},
    // Flux. FLUX_URI and FLUX_JOB_ID stay: with them `flux` commands work in a job.
    {"FLUX_TASK_RANK", Says::place},
    {"FLUX_TASK_LOCAL_ID", Says::place},
    {"FLUX_JOB_SIZE", Says::share},
    {"FLUX_JOB_NNODES", Says::share},
    {"FLUX_KVS_NAMESPACE", Says::share},
    // Cray's launchers.
    {"ALPS_APP_*", Says::place},
    {"PALS_*", Says::place},
    // MPI launchers.
    {"PMI_*", Says::place},
    {"PMI_DEBUG", Says::name},
    {"PMIX_*", Says::place},
    {"PMIX_MCA_*", Says::name},
    {"HYDI_CONTROL_FD", Says::place},
    {"I_MPI_PMI_LIBRARY", Says::place},
    {"OMPI_COMM_WORLD_*", Says::place},
    {"OMPI_UNIVERSE_SIZE", Says::place},
    {"OMPI_APP_CTX_NUM_PROCS", Says::place},
    {"OMPI_NUM_APP_CTX", Says::place},
    {"OMPI_FIRST_RANKS", Says::place},
    {"OMPI_FILE_LOCATION", Says::place},
    {"OMPI_MCA_orte_*", Says::place},
    {"OMPI_MCA_ess*", Says::place},
    {"PRTE_*", Says::place},
    {"PRTE_MCA_*", Says::name},
    {"MV2_COMM_WORLD_*", Says::place},
    {"JSM_NAMESPACE_*", Says::place},
    {"MPI_LOCAL*", Says::place},
    // systemd: a task could tell it that the service around is ready, or ending.
    {"NOTIFY_SOCKET", Says::place},
    {"WATCHDOG_PID", Says::place},
    {"WATCHDOG_USEC", Says::place},
    {"LISTEN_PID", Says::place},
    {"LISTEN_FDS", Says::place},
    {"LISTEN_FDNAMES", Says::place},
    {"JOURNAL_STREAM", Says::place},
};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

const OuterVariable* row_of(std::string_view name) {
  const OuterVariable* found = nullptr;
  for (const auto& row : kVariables)
    if (matches(row.pattern, name) &&
        (found == nullptr || row.pattern.size() > found->pattern.size() || row.pattern == name))
      found = &row;
  return found;
}

}  // namespace

std::span<const OuterVariable> outer_variables() {
  return kVariables;
}

std::vector<std::string> variables_that_say(const Environment& environment, Says what) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment.variables)
    if (const auto* const row = row_of(name); row != nullptr && row->says == what)
      names.push_back(name);
  return names;
}

bool is_kept_from_tasks(std::string_view variable) {
  const auto* const row = row_of(variable);
  return row != nullptr && row->says != Says::name;
}

}  // namespace holon::batch
