// in_memory.hpp - bytes as an open file without a name, to be read by another process.
#pragma once
#include <string_view>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// Positioned at its first byte. `name` is what /proc shows of it. Errors: system.
Result<transport::UniqueFd> in_memory(const char* name, std::string_view bytes);

}  // namespace holon::launch
