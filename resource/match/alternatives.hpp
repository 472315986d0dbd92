// alternatives.hpp - which of several kinds of slot to fill, so that as many as possible are
// filled.
#pragma once
#include <cstdint>
#include <vector>

#include "resource/match/request.hpp"

namespace holon::resource::match {

// Units of each type that are there to fill slots with.
struct Stock {
  std::vector<TypeId> types;  // ascending
  std::vector<std::int64_t> units;
};

// For one slot after the other the index into `slots` of the kind to fill; as long as the most
// slots that can be filled from the stock in any mix, or `wanted` where there is one kind only.
// What does not stand for slots in `slots` counts as an empty kind, which nothing can fill. Dynamic
// programming over what is left; a stock of very many states is taken for no larger than `wanted`
// slots need, and where that is still too much the kinds are filled in turn, which may come to
// fewer slots. O(states * slots), at most a million of them. Source: Fluxion's flexible traverser.
std::vector<std::size_t> best_mix(const std::vector<Need>& slots, const Stock& stock,
                                  std::int64_t wanted);

}  // namespace holon::resource::match
