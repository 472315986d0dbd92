// instance_path.hpp - addresses in a tree of instances: "/" is the root, "/3/7" the instance, or
// the job, that is job 7 of the instance that is job 3 of the root.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon {

// The number of a job; nullopt: `text` is no job number (0 is none).
std::optional<std::uint64_t> job_number(std::string_view text);

// `path` as seen from the instance `base`: "/3/7" stays, "7" is a child, ".." the parent, "."
// itself. Errors: invalid_argument (a part that is not a job id, more ".." than there are levels).
Result<std::string> join_path(const std::string& base, const std::string& path);

// Are `a` and `b` in the order of a listing: part by part, numbers as numbers ("/3/9" before
// "/3/10")?
bool path_before(std::string_view a, std::string_view b);

}  // namespace holon
