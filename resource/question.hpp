// question.hpp - the number under which something is held for a question only.
#pragma once
#include <cstdint>

#include "base/strong.hpp"

namespace holon::resource {

// The number of no job. What is held under it is given back at once, and leaves no trace in the
// order in which vertices are looked at.
inline constexpr JobId kQuestion{UINT64_MAX};

}  // namespace holon::resource
