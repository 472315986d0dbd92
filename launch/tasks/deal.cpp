#include "launch/tasks/deal.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace holon::launch {

std::vector<std::vector<std::uint32_t>> deal(const std::vector<std::uint32_t>& counts) {
  std::vector<std::vector<std::uint32_t>> dealt(counts.size());
  std::vector<std::size_t> open(counts.size());  // places that lack numbers
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (std::uint32_t next = 0; !open.empty();) {
    std::erase_if(open, [&](std::size_t place) { return dealt[place].size() == counts[place]; });
    for (const std::size_t place : open) dealt[place].push_back(next++);
  }
  return dealt;
}

}  // namespace holon::launch
