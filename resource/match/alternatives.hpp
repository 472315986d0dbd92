// alternatives.hpp - which of several kinds of slot to fill, so that as many as possible are
// filled.
#pragma once
#include <cstdint>
#include <vector>

#include "resource/match/request.hpp"

namespace holon::resource::match {

// Units of each type with which slots can be filled.
struct Stock {
  std::vector<TypeId> types;  // ascending
  std::vector<std::int64_t> units;
};

// The kinds of slot to fill, one after the other, as indices into `slots`; as many as the most
// slots that can be filled from the stock in any mix, or `wanted` where there is one kind only. An
// entry of `slots` that is no slot counts as an empty kind, which nothing can fill. Dynamic
// programming over what is left; a stock of very many states is taken for no larger than `wanted`
// slots need, and where that is still too much the kinds are filled in turn, which may come to
// fewer slots. O(states * slots), at most a million of them. Source: Fluxion's flexible traverser.
std::vector<std::size_t> best_mix(const std::vector<Need>& slots, const Stock& stock,
                                  std::int64_t wanted);

}  // namespace holon::resource::match
