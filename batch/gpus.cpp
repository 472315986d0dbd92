// GPUs that a batch system has granted on this node, by gres.conf(5) of Slurm, and complex(5) of
// the Grid Engines that have lists of resources (RSMAP).
#include <string_view>

#include "base/idset.hpp"
#include "batch/systems.hpp"

namespace holon::batch {
namespace {

std::vector<std::string> names_of(const Idset& numbers) {
  std::vector<std::string> names;
  for (const std::uint64_t number : numbers.ids()) names.push_back(std::to_string(number));
  return names;
}

// The device: 1 for "gpu1" and "1"; a name without a number stays a name.
std::string device_of(std::string_view word) {
  const auto last = word.find_last_not_of("0123456789");
  const auto digits = last == std::string_view::npos ? word : word.substr(last + 1);
  return std::string(digits.empty() ? word : digits);
}

}  // namespace

// Reads "0,2-3". A step has its own GPUs, which on another node than the first are not those of the
// job's variable. If only their number is given, the job sees no others than these.
void read_gpus_of_slurm(const Environment& environment, Allocation& allocation) {
  for (const char* const name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
    const std::string list = environment.at(name);
    if (list.empty()) continue;
    const auto numbers = Idset::parse(list);
    if (!numbers) return doubt(allocation, name, numbers.error());
    allocation.gpus = names_of(*numbers);
    return;
  }
  const auto count = number_in(environment, "SLURM_GPUS_ON_NODE", allocation);
  if (!count) return;
  allocation.gpus.emplace();
  for (std::uint64_t i = 0; i < *count; ++i) allocation.gpus->push_back(std::to_string(i));
}

// Reads "gpu0 gpu1" of the resource with the most common name: each site chooses its own.
void read_gpus_of_grid_engine(const Environment& environment, Allocation& allocation) {
  const std::string list = first_of(
      environment, {"SGE_HGR_gpu", "SGE_HGR_GPU", "SGE_HGR_gpus", "SGE_HGR_cuda", "SGE_HGR_CUDA"});
  if (list.empty()) return;
  allocation.gpus.emplace();
  for (const auto word : words_of(list)) allocation.gpus->push_back(device_of(word));
}

}  // namespace holon::batch
