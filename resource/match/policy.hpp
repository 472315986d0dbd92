// policy.hpp - which of the resources that fit are taken: the match policies, as parameters of one
// search.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource::match {

// The order of the scores: every vertex that fits gets a score, and the best are taken.
enum class Order {
  high,       // highest id first
  low,        // lowest id first
  locality,   // ids that lie side by side
  variation,  // property perf_class, lowest first
};

struct Policy {
  Order order = Order::high;
  bool node_centric = false;    // the node's id outweighs what is in it
  bool node_exclusive = false;  // a node of which anything is taken is taken whole
  bool stop_at_first = false;   // take what comes first, from where most is free

  bool operator==(const Policy&) const = default;

  // A name (first, firstnodex, high, low, hinode, lonode, hinodex, lonodex, locality, variation) or
  // "key=value key=value" with the keys policy, node_centric, node_exclusive, stop_on_1_matches.
  // Errors: invalid_argument naming what is unknown and what is accepted.
  static Result<Policy> parse(std::string_view text);

  // The bonus that an enclosing node adds to scores below it. 0 unless node_centric.
  std::int64_t node_bonus(const Vertex& node) const;
  // The score of a vertex itself, enclosing nodes not counted; always > 0. Ids above 2^32 count as
  // 2^32.
  std::int64_t score(const ResourceGraph& graph, VertexId v) const;
};

// The sum of two scores, in slots, whatever the ids: INT64_MAX where it would not fit. REQUIRES:
// both >= 0.
constexpr std::int64_t add_scores(std::int64_t a, std::int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

}  // namespace holon::resource::match
