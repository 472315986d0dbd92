// gpu_devices.hpp - which of the devices that hwloc names are GPUs, and the number that each has as
// a GPU of its node: the resource graph and whoever starts tasks count alike.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace holon {

// cuda1, rsmi1, ze1 and opencl0d1 are four libraries' views of GPUs; the number tells them apart
// within one view.
struct GpuView {
  std::string_view view;  // "cuda", "rsmi", "ze", "opencl"; "": another
  std::int64_t id = -1;   // by which its library knows it; -1: the name says none
};
// Of an OS device of hwloc's: a coprocessor, or what hwloc calls a GPU, which is AMD's or a
// display. nullopt: it is none. `otherwise`: the number of one whose name is of no such view.
std::optional<GpuView> gpu_view(std::string_view name, bool is_coprocessor, bool is_gpu,
                                std::int64_t otherwise);

struct SeenGpu {
  GpuView gpu;
  const void* card = nullptr;  // the PCI device that it is on; nullptr: that is not known
};
// The number of each as a GPU of the node, in the order given; nullopt: it is one that another view
// shows, too. The most native view's are counted by its numbers; cards that it does not see are of
// another maker, and have the numbers behind these.
std::vector<std::optional<std::int64_t>> number_gpus(std::span<const SeenGpu> seen);

}  // namespace holon
