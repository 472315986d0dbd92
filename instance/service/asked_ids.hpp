// asked_ids.hpp - how many jobs one request may name.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

// Errors: out_of_range.
Status check_ids(const std::vector<std::uint64_t>& ids);

}  // namespace holon::instance
