// allocation.hpp - R: the resources of one job over one interval, as a plain value.
//
// Vertices are named by their `uniq_id`, which is stable across restarts of an instance, so that an
// Allocation can be journalled as it is and imposed again on the same graph. Formats (JGF, Rv1,
// ...) write it against a graph.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/strong.hpp"
#include "base/time.hpp"

namespace holon::resource {

// Units of a pool: cores, GiB, licences. Whole and never negative.
using Amount = std::int64_t;

// The part of one vertex that one job holds.
struct Share {
  std::int64_t uniq_id = 0;
  Amount amount = 1;  // units held; 0 for a vertex that is only passed through (shared ancestor)
  bool exclusive = false;  // no other job may hold anything of this vertex or below it

  bool operator==(const Share&) const = default;
};

struct Allocation {
  JobId job;
  Interval when;              // starts now (an allocation) or later (a reservation)
  std::vector<Share> shares;  // in the order the match emits them
  // Labels that the jobspec gave resources which are no slots, by uniq_id; most jobs have none.
  std::vector<std::pair<std::int64_t, std::string>> labels{};
  // Vertices reached by a link (graph.hpp), and from which: uniq_ids; only as_fluxion has any.
  std::vector<std::pair<std::int64_t, std::int64_t>> links{};

  bool operator==(const Allocation&) const = default;
};

}  // namespace holon::resource
