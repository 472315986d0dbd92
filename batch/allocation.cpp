#include "batch/allocation.hpp"

#include <algorithm>
#include <array>

#include "batch/systems.hpp"

namespace holon::batch {
namespace {

struct Known {
  System system;
  const char* name;
  const char* title;
  bool (*is_there)(const Environment&);
  void (*read)(const Environment&, Allocation&);
};

// The systems in the order of the search: one that can run as a job of another one comes first. A
// job of Flux or of holon has the variables of the batch job that its instance is.
constexpr Known kKnown[] = {
    {System::holon, "holon", "holon", is_in_holon, read_holon},
    {System::flux, "flux", "Flux", is_in_flux, read_flux},
    {System::slurm, "slurm", "Slurm", is_in_slurm, read_slurm},
    {System::pbs, "pbs", "PBS", is_in_pbs, read_pbs},
    {System::lsf, "lsf", "LSF", is_in_lsf, read_lsf},
    {System::oar, "oar", "OAR", is_in_oar, read_oar},
    {System::grid_engine, "grid-engine", "Grid Engine", is_in_grid_engine, read_grid_engine},
};

const Known* known(System system) {
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& one) { return one.system == system; });
  return found == std::end(kKnown) ? nullptr : found;
}

// Finds this node by the batch system's name for it; gethostname(2) is the last resort: several
// nodes of one machine have the same, and a node may be known by another.
void find_here(const Environment& environment, Allocation& allocation) {
  const auto find = [&](const std::string& name) {
    return std::find_if(allocation.nodes.begin(), allocation.nodes.end(),
                        [&](const Node& node) { return is_same_host(node.name, name); });
  };
  auto here = allocation.nodes.end();
  if (!allocation.node.empty())
    here = find(allocation.node);
  else if (!environment.host_name.empty())
    here = find(environment.host_name);
  if (here == allocation.nodes.end()) return;
  allocation.node = here->name;
  allocation.node_index = static_cast<std::size_t>(here - allocation.nodes.begin());
  if (allocation.cpus_here == 0) allocation.cpus_here = here->cpus;
}

}  // namespace

const char* name_of(System system) {
  const Known* one = known(system);
  return one != nullptr ? one->name : "none";
}

const char* title_of(System system) {
  const Known* one = known(system);
  return one != nullptr ? one->title : "no batch system";
}

std::optional<System> system_of(std::string_view name) {
  if (name == "none") return System::none;
  for (const Known& one : kKnown)
    if (name == one.name) return one.system;
  return std::nullopt;
}

Allocation find_allocation(const Environment& environment, std::optional<System> named) {
  Allocation allocation;
  for (const Known& one : kKnown) {
    if (named ? *named != one.system : !one.is_there(environment)) continue;
    allocation.system = one.system;
    one.read(environment, allocation);
    find_here(environment, allocation);
    break;
  }
  allocation.place = find_place(environment);
  return allocation;
}

}  // namespace holon::batch
