// part_ranks.hpp - which tasks of a job run in which of its parts, for what an MPI library wants to
// know about tasks on other nodes.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"

namespace holon::launch {

// By part, and in the order of msg::Start::tasks. Errors: invalid_argument (the message's numbers
// of tasks do not fit together). O(tasks of the job).
Result<std::vector<std::vector<std::uint32_t>>> ranks_by_part(const msg::Start& start);

// The part that each rank is in, of what ranks_by_part() has returned.
std::vector<std::uint32_t> parts_by_rank(const std::vector<std::vector<std::uint32_t>>& ranks);

}  // namespace holon::launch
