// indices.hpp - the indices of an array as they are typed.
#pragma once
#include <string>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {

// Reads "1-10", "0-100:2", "7", "1,3,5-7", each with "%50" behind it. Errors: invalid_argument.
Result<IndexRange> parse_indices(const std::string& word);

}  // namespace holon::cli
