#include "instance/basics/surroundings.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "batch/outer_variables.hpp"
#include "launch/offer.hpp"

namespace holon::instance {
namespace {

std::string job_of(const batch::Allocation& allocation) {
  return allocation.job.empty()
             ? std::string(title_of(allocation.system))
             : fmt::format("{} job {}", title_of(allocation.system), allocation.job);
}

std::string remedy(const batch::LaunchPlace& place) {
  if (place.launcher == "srun")
    return "start it once, in the batch script itself or by `srun -N1 -n1 holon start`";
  return fmt::format("start it once, without {}", place.launcher);
}

}  // namespace

Surroundings look_around(const config::Config& config) {
  const auto environment = batch::current_environment();
  Surroundings around;
  around.allocation = batch::find_allocation(environment, batch::system_of(config.batch_system));
  if (config.heeds_cgroups) around.limits = batch::find_cgroup_limits(environment);
  around.of_place = batch::variables_that_say(environment, batch::Says::place);
  return around;
}

std::optional<Error> one_of_several(const Surroundings& around) {
  const batch::LaunchPlace& place = around.allocation.place;
  if (!place.is_one_of_several()) return std::nullopt;
  const std::string rank = place.rank ? fmt::format(" {}", *place.rank) : "";
  const std::string size = place.size ? fmt::format("{}", *place.size) : "several";
  return Error{Errc::unsupported,
               fmt::format("this is task{} of {} that {} has started, and each would make an "
                           "instance of its own; {}, or with --here for one in each task",
                           rank, size, place.launcher, remedy(place)),
               place.variable};
}

std::string unused_nodes(const batch::Allocation& allocation) {
  const bool is_holons = allocation.system == batch::System::holon;
  const auto nodes = allocation.nodes.size();
  if (is_holons || nodes == 0) return "";
  if (!allocation.node_index)
    return fmt::format(
        "{} has {} node{}; this instance is of this host only, which is none of them",
        job_of(allocation), nodes, nodes == 1 ? "" : "s");
  if (nodes == 1) return "";
  return fmt::format("{} has {} nodes; this instance is of {} only", job_of(allocation), nodes,
                     allocation.node);
}

std::uint64_t most_memory(const Surroundings& around) {
  const std::uint64_t granted = around.allocation.memory_here;
  const std::uint64_t limit = around.limits.memory.value_or(0);
  if (granted == 0 || limit == 0) return std::max(granted, limit);
  return std::min(granted, limit);
}

Result<std::string> keep_granted_cores(const Surroundings& around) {
  const std::uint64_t cpus = around.allocation.cpus_here;
  const auto kept = launch::keep_first_cores(around.limits.cores(),
                                             cpus > 0 ? std::optional(cpus) : std::nullopt);
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept) return "";
  const bool by_limit = around.limits.cores() && (*kept)->cores >= *around.limits.cores();
  const std::string why = by_limit
                              ? fmt::format("{} allows {:.3g} CPUs (resource.cgroup-limits)",
                                            around.limits.cpus_from, *around.limits.cpus)
                              : fmt::format("{} grants {} CPU{} here", job_of(around.allocation),
                                            cpus, cpus == 1 ? "" : "s");
  return fmt::format("{} of {} cores are offered: {}", (*kept)->cores, (*kept)->of, why);
}

std::vector<std::string> show_granted_gpus(const Surroundings& around) {
  const std::vector<std::string> names = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
  const auto is_set = [](const auto& name) { return std::getenv(name.c_str()) != nullptr; };
  if (!around.allocation.gpus || std::any_of(names.begin(), names.end(), is_set)) return {};
  const std::string devices = fmt::format("{}", fmt::join(*around.allocation.gpus, ","));
  for (const auto& name : names) setenv(name.c_str(), devices.c_str(), 1);
  return names;
}

}  // namespace holon::instance
