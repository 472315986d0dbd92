// part_ranks.hpp - which tasks of a job run in which of its parts, for MPI libraries that ask about
// tasks on other nodes.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"

namespace holon::launch {

// Ranks by part, in the order of msg::Start::tasks. Errors: invalid_argument (the message's numbers
// of tasks do not fit together). O(tasks of the job).
Result<std::vector<std::vector<std::uint32_t>>> ranks_by_part(const msg::Start& start);

// The part of each rank, from the result of ranks_by_part().
std::vector<std::uint32_t> parts_by_rank(const std::vector<std::vector<std::uint32_t>>& ranks);

}  // namespace holon::launch
