// gpus.hpp - which of a node's GPUs this process was given: the variables of a batch system, a site
// or a person count, even if hwloc sees more GPUs, or none.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace holon::launch {

// The devices of CUDA_VISIBLE_DEVICES, or on an AMD node of ROCR_VISIBLE_DEVICES, as written there;
// empty: none may be used ("", "-1", "NoDevFiles"). nullopt: the variable is not set.
std::optional<std::vector<std::string>> visible_gpus(bool amd);

// A topology as hwloc exports it, with as many GPUs as there are `devices`, of which the i-th has
// the number i. If hwloc sees fewer, but some, these are all; if it sees none the devices are
// spread over the packages, or over parts of these that have memory of their own.
std::string with_gpus(const std::string& xml, const std::vector<std::string>& devices);

}  // namespace holon::launch
