// deal.hpp - numbers dealt to places in turn, as cards are: ranks to the nodes of a job whose tasks
// are distributed cyclically.
#pragma once
#include <cstdint>
#include <vector>

namespace holon::launch {

// For each place the numbers that it gets, ascending: 0 goes to the first place, 1 to the second,
// and so on, round after round; a place that has `counts` of them is passed over. O(places + all
// numbers).
std::vector<std::vector<std::uint32_t>> deal(const std::vector<std::uint32_t>& counts);

}  // namespace holon::launch
