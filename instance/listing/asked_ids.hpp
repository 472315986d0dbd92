// asked_ids.hpp - how many jobs one request may name, and which options of "jobs" go together.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// Errors: out_of_range.
Status check_ids(const std::vector<std::uint64_t>& ids);

// Do the options of "jobs" go together? Errors: invalid_argument, and those of check_ids() and of
// its filter.
Status check_request(const msg::JobsRequest& ask);

}  // namespace holon::instance
