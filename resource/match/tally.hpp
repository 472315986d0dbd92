// tally.hpp - how many slots could be filled with what a search has found so far of one type. A
// private header.
#pragma once
#include <cstdint>

namespace holon::resource::match {

// A share is one slot's need of the type, made up of whole vertices or of units of them.
struct Tally {
  std::int64_t per_share = 0;
  std::int64_t seen = 0;
  std::int64_t open = 0;  // towards the next share
  std::int64_t shares = 0;
  bool divisible = false;

  void see(std::int64_t total) {
    if (total <= seen) return;
    add(total - seen);
    seen = total;
  }
  void add(std::int64_t count) {
    open += count;
    if (per_share <= 0 || open < per_share) return;
    if (divisible) {
      shares += open / per_share;
      open %= per_share;
    } else {
      ++shares;
      open = 0;  // a vertex is not split between slots
    }
  }
  bool enough(std::int64_t wanted) const { return per_share <= 0 || shares >= wanted; }
};

}  // namespace holon::resource::match
