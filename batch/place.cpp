#include "batch/place.hpp"

#include <fmt/core.h>

#include "batch/hosts.hpp"

namespace holon::batch {
namespace {

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;  // nullptr: this launcher does not say
};

// Variables that an instance removes from what it starts (outer_variables.hpp): if set, a launcher
// inside of it has set them.
constexpr Variables kOfMpi[] = {
    {"mpiexec", "PMI_RANK", "PMI_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpiexec", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
};
constexpr Variables kOfHolon = {"holon run", "HOLON_TASK_RANK", "HOLON_NTASKS"};
constexpr Variables kOfFlux = {"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"};
constexpr Variables kOfSlurm = {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
// PMIx has no variable for the size; Cray's PALS says it by PMI_SIZE only where PMI is asked for.
constexpr Variables kWithoutSize[] = {{"mpirun", "PMIX_RANK", nullptr},
                                      {"aprun", "PALS_RANKID", nullptr}};

std::optional<std::uint64_t> number_at(const Environment& environment, const char* name) {
  const auto value = whole_number(environment.at(name));
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<LaunchPlace> place_by(const Environment& environment, const Variables& variables) {
  const auto rank = number_at(environment, variables.rank);
  if (variables.size == nullptr) {
    if (!rank) return std::nullopt;
    return LaunchPlace{variables.launcher, fmt::format("{}={}", variables.rank, *rank), rank, {}};
  }
  const auto size = number_at(environment, variables.size);
  if (!size) return std::nullopt;
  return LaunchPlace{variables.launcher, fmt::format("{}={}", variables.size, *size), rank, size};
}

// The job's script is task 1 of node 0; pbsdsh and pbs_tmrsh start the others, and do not tell
// their number.
std::optional<LaunchPlace> place_by_pbs(const Environment& environment) {
  const auto task = number_at(environment, "PBS_TASKNUM");
  const auto node = number_at(environment, "PBS_NODENUM");
  if (!environment.has("PBS_JOBID") || (task.value_or(1) <= 1 && node.value_or(0) == 0))
    return std::nullopt;
  const std::string variable = node.value_or(0) > 0 ? fmt::format("PBS_NODENUM={}", *node)
                                                    : fmt::format("PBS_TASKNUM={}", *task);
  return LaunchPlace{"pbsdsh", variable, node, {}};
}

// `qrsh -inherit` tells which job it is a part of, and not how many parts there are.
std::optional<LaunchPlace> place_by_grid_engine(const Environment& environment) {
  if (environment.at("JOB_SCRIPT") != "QRSH" || environment.at("JOB_NAME") != "petask")
    return std::nullopt;
  return LaunchPlace{"qrsh -inherit", "JOB_NAME=petask", {}, {}};
}

}  // namespace

LaunchPlace find_place(const Environment& environment) {
  for (const auto& variables : kOfMpi)
    if (auto place = place_by(environment, variables)) {
      // Slurm's plugin sets the same variables.
      if (environment.has("SLURM_MPI_TYPE") && environment.has("SLURM_STEP_ID") &&
          place->size == number_at(environment, "SLURM_STEP_NUM_TASKS"))
        place->launcher = "srun";
      return *place;
    }
  if (auto place = place_by(environment, kOfHolon)) return *place;
  const bool is_inside = environment.has("HOLON_URI");
  if (!is_inside) {
    if (auto place = place_by(environment, kOfFlux)) return *place;
    if (environment.has("SLURM_STEP_ID"))
      if (auto place = place_by(environment, kOfSlurm)) return *place;
    if (auto place = place_by_pbs(environment)) return *place;
    if (auto place = place_by_grid_engine(environment)) return *place;
  }
  for (const auto& variables : kWithoutSize)
    if (auto place = place_by(environment, variables)) return *place;
  return {};
}

}  // namespace holon::batch
