// deal.hpp - numbers dealt to places in turn, like cards: ranks to the nodes of a job whose tasks
// are distributed cyclically.
#pragma once
#include <cstdint>
#include <vector>

namespace holon::launch {

// The numbers of each place, ascending: 0 goes to the first place, 1 to the second, and so on,
// round after round; a place that has its `counts` is skipped. O(places + all numbers).
std::vector<std::vector<std::uint32_t>> deal(const std::vector<std::uint32_t>& counts);

}  // namespace holon::launch
