// gpus.hpp - which of a node's GPUs this process was given: the variables of a batch system, a site
// or a person count, even if hwloc sees more GPUs, or none.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holon::launch {

// Whose library counts the device, and has a variable by which it shows a process some of them.
enum class Maker { nvidia, amd, intel };
std::string_view name_of(Maker maker);  // "nvidia"

// A GPU of a node: the `index`-th device of its maker's library.
struct GpuOfMaker {
  Maker maker = Maker::nvidia;
  std::size_t index = 0;
  bool operator==(const GpuOfMaker&) const = default;
};

using Devices = std::vector<std::string>;
using VisibleGpus = std::map<Maker, Devices>;

// The devices of CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and ZE_AFFINITY_MASK, of these makers,
// as they stand there; empty: none may be used ("", "-1", "NoDevFiles"). A maker whose variable is
// not set is not in it. No makers: NVIDIA, whose variable is also that of other tools.
VisibleGpus visible_gpus(const std::set<Maker>& makers);

// A topology as hwloc exports it, with as many GPUs of a maker as there are devices, of which the
// i-th one has the number i. Where hwloc sees fewer than that, but some, those are all; where it
// sees none the devices are spread over the packages, or parts of these that have memory of their
// own.
std::string with_gpus(const std::string& xml, const VisibleGpus& visible);

// What the GPUs of a node, by number, are called: by the one library there is, or with the name of
// the maker ("amd:1"). Empty: by their numbers.
Devices names_of_gpus(const std::vector<GpuOfMaker>& gpus, const VisibleGpus& visible);
struct NamedGpu {
  Maker maker;
  std::string device;
};
// Reads such a name; without a maker it is of `usual`.
NamedGpu gpu_of_name(const std::string& name, Maker usual);

}  // namespace holon::launch
