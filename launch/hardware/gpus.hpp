// gpus.hpp - which of a node's GPUs this process was given: what a batch system, a site or a person
// has left in the environment counts, also where hwloc sees more of them, or none.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace holon::launch {

// The devices of CUDA_VISIBLE_DEVICES, or on a node of AMD's of ROCR_VISIBLE_DEVICES, as they stand
// there; empty: none may be used ("", "-1", "NoDevFiles"). nullopt: the variable is not set.
std::optional<std::vector<std::string>> visible_gpus(bool amd);

// A topology as hwloc exports it, with as many GPUs as there are `devices`, of which the i-th one
// has the number i. Where hwloc sees fewer than that, but some, those are all; where it sees none
// the devices are spread over the packages, or parts of these that have memory of their own.
std::string with_gpus(const std::string& xml, const std::vector<std::string>& devices);

}  // namespace holon::launch
