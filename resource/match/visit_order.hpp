// visit_order.hpp - in which order a first-match search looks at the children of a vertex: where
// most was free when something was last taken there first, the youngest (highest uniq_id) first
// among equals.
//
// Taking something updates it, giving back does not (as in Fluxion): a vertex that nobody touched
// stays in front.
//
// A reservation neither changes that order nor follows it, except in a store that answers as
// Fluxion does: its units are searched for as if nothing had ever been taken. A scheduler makes the
// same reservation again and again, and jobs start in between; so it gets the same units each time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "resource/graph/graph.hpp"

namespace holon::resource::match {

class VisitOrder {
 public:
  VisitOrder() = default;
  explicit VisitOrder(const ResourceGraph& graph) { rebuild(graph); }
  // Follows a change of the graph's shape; touched vertices stay touched. O(V log siblings).
  void rebuild(const ResourceGraph& graph);

  // The children of v in the order of the visit.
  std::span<const VertexId> children(VertexId v) const {
    const auto first = begin_[v.value()];
    return std::span(ordered_).subspan(first, begin_[v.value() + 1] - first);
  }
  // Gives v its new place among its siblings, with `free` units left below it. O(siblings), O(1) if
  // nothing changed.
  void update(const ResourceGraph& graph, VertexId v, Amount free);

 private:
  static constexpr Amount kUntouched = INT64_MAX;
  Amount weight(VertexId v) const { return weights_[v.value()]; }

  std::vector<VertexId> ordered_;     // the children of slot 0, of slot 1, ...
  std::vector<std::uint32_t> begin_;  // by slot, into ordered_; one more at the end
  std::vector<Amount> weights_;       // by slot
};

}  // namespace holon::resource::match
