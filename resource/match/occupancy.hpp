// occupancy.hpp - who holds what of the graph's vertices, when: the state beside the graph that a
// search reads.
//
// Every vertex has a timeline of the units that are held; every vertex with others below it also
// has timelines of the counted types below it (Filters) and of the number of jobs that hold
// something there. A vertex that was taken whole with everything below it leaves no trace in what
// is below: a search does not get past it. Timelines without a span cost one pointer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "resource/graph/graph.hpp"
#include "resource/match/filters.hpp"
#include "resource/match/request.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::resource::match {

// One vertex that a job holds or passes through. A selection is a list of these in the order of
// emission: below before above, siblings in the graph's order, every vertex's ancestors included.
struct Chosen {
  VertexId vertex;
  Amount units = 0;  // held; 0: only passed through
  bool exclusive = false;
  bool whole = false;          // exclusive, and so is everything below it
  bool implied = false;        // it is below a whole vertex
  const Need* need = nullptr;  // the need whose label it has; null: none
  VertexId via = kNoVertex;    // the vertex whose link led to it; kNoVertex: its parent did
};

// The vertex that a chosen vertex stands below, as it was reached.
inline VertexId above(const ResourceGraph& graph, const Chosen& chosen) {
  return chosen.via != kNoVertex ? chosen.via : graph.parent(chosen.vertex);
}

// The units that a job holds, in a form that can be given back without looking at the graph.
struct Hold {
  struct Item {
    VertexId vertex;
    Amount units = 0;
    std::uint32_t sums =
        UINT32_MAX;  // where its sums begin, one a type it counts; UINT32_MAX: a leaf
    TypeId type;
    bool whole = false;
  };
  Interval when;
  std::vector<Item> items;
  std::vector<Amount> sums;
};

class Occupancy {
 public:
  // Holds nothing. REQUIRES: rebuild (and take again) after the graph's shape_version() has
  // changed.
  Occupancy(const ResourceGraph& graph, Filters filters);

  const Filters& filters() const { return filters_; }

  // ---- what is free; the smallest over `when`
  Amount free(const ResourceGraph& graph, VertexId v, Interval when) const {
    const Timeline& used = used_[v.value()];
    return graph[v].size - (used.empty() ? 0 : used.max_used(when));
  }
  // Does no job hold anything of v or below it?
  bool idle(VertexId v, Interval when) const;
  // Do the counters at v leave `below` units of every type that v counts?
  bool offers(TypeId type, VertexId v, const Demand& below, Interval when) const;
  // Would the counters at v leave `below`, if nothing were held?
  bool contains(TypeId type, VertexId v, const Demand& below) const;
  // Free units of the last type that v counts, at one instant; -1: v counts nothing.
  Amount scarcest_free(TypeId type, VertexId v, Time at) const;
  // Units of a counted type below v (v itself excluded), in all.
  Amount total_below(VertexId v, std::uint32_t counted) const;
  Amount used_below(VertexId v, std::uint32_t counted, Time at) const;

  // The earliest time from `from` on from which v's counters leave `below` for `duration`; nullopt:
  // never.
  std::optional<Time> earliest_offer(const ResourceGraph& graph, VertexId v, const Demand& below,
                                     Time from, Duration duration) const;
  // The earliest time from `from` on from which v is idle for `duration`; nullopt: never.
  std::optional<Time> earliest_idle(VertexId v, Time from, Duration duration) const;
  // Is anything held at or below v, now or ever?
  bool is_used(VertexId v) const;
  // The next time after `after` at which anything below the root begins or ends; nullopt: none.
  std::optional<Time> next_event(VertexId root, Time after) const;

  bool is_leaf(VertexId v) const { return inner_[v.value()] == kLeaf; }

  // Sets of types, a bit each; there are none for types beyond the first 64, which few graphs have.
  using Types = std::uint64_t;
  static constexpr std::uint32_t kBits = 64;
  static Types bit(TypeId type) {
    return type.value() < kBits ? Types{1} << type.value() : Types{0};
  }
  // Types of the vertices below v; types of v's children that have vertices below them.
  Types types_below(VertexId v) const {
    return is_leaf(v) ? Types{0} : types_below_[inner_[v.value()]];
  }
  Types inner_children(VertexId v) const {
    return is_leaf(v) ? Types{0} : inner_children_[inner_[v.value()]];
  }
  // Types of all vertices below any vertex of the type.
  Types types_below(TypeId type) const {
    return type.value() < below_type_.size() ? below_type_[type.value()] : Types{0};
  }
  // Has a child of v this type?
  bool has_child_type(VertexId v, TypeId type) const;

  bool operator==(const Occupancy& other) const;

  // Is every vertex of the type one unit?
  bool is_unit(TypeId type) const { return type.value() < unit_.size() && unit_[type.value()]; }
  // Are vertices of the type pools (several units, nothing below)? Jobs can then have some units
  // each.
  bool is_pool(TypeId type) const { return type.value() < pool_.size() && pool_[type.value()]; }
  bool has_pools() const { return std::find(pool_.begin(), pool_.end(), true) != pool_.end(); }

  // ---- changes
  // REQUIRES: the selection fits. O(selection * depth of the timelines).
  Hold take(const ResourceGraph& graph, std::span<const Chosen> selection, Interval when);
  void give_back(const Hold& hold);
  // Moves the hold's end. REQUIRES: end > begin.
  void move_end(Hold& hold, Time end);

 private:
  static constexpr std::uint32_t kLeaf = UINT32_MAX;
  // timelines and totals of inner vertex i: [i * stride_, (i + 1) * stride_); the first one counts
  // jobs
  std::size_t at(VertexId v) const { return std::size_t{inner_[v.value()]} * stride_; }
  void add_totals(const ResourceGraph& graph);
  void add_types_below(const ResourceGraph& graph);
  void hold_inner(Hold& hold, const std::vector<Amount>& below);
  template <class Change>
  void for_each_timeline(const Hold& hold, Change change);

  Filters filters_;
  std::size_t stride_;
  std::vector<Timeline> used_;              // by slot
  std::vector<std::uint32_t> inner_;        // by slot: number among inner vertices, or kLeaf
  std::vector<std::uint64_t> child_types_;  // of inner vertices: bit set of the first 64 types
  // (inner vertex, type) for all others, sorted; most graphs have none.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> late_child_types_;
  std::vector<Types> types_below_, inner_children_;  // of inner vertices
  std::vector<Types> below_type_;                    // by type
  std::vector<bool> unit_;                           // by type
  std::vector<bool> pool_;                           // by type
  std::vector<Timeline> counters_;
  std::vector<Amount> totals_;
};

}  // namespace holon::resource::match
