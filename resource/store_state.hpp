// store_state.hpp - what is inside a ResourceStore. A private header of resource/store*.cpp.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "resource/change_log.hpp"
#include "resource/graph/graph.hpp"
#include "resource/match/earliest.hpp"
#include "resource/match/occupancy.hpp"
#include "resource/match/policy.hpp"
#include "resource/match/request.hpp"
#include "resource/match/search.hpp"
#include "resource/match/visit_order.hpp"
#include "resource/oddities.hpp"
#include "resource/store.hpp"

namespace holon::resource {

struct ResourceStore::State {
  // One job's relation to one vertex, as `find` tells it and release_listed changes it.
  struct Mark {
    VertexId vertex;
    bool holds = false;           // anything of it
    Amount units = 0;             // if so: what its ancestors count
    bool tagged = true;           // something at or below it
    bool counted = false;         // is part of the vertex's aggregates
    std::vector<Amount> planned;  // if counted: of each of filters().counted_at(type)
  };
  // What one job holds.
  struct Held {
    Allocation allocation;
    match::Hold hold;
    bool reserved = false;
    std::vector<Mark> marks;  // after release_listed; empty: as the shares say
  };

  // A request asked lately, ready to be asked again: many jobs are alike.
  struct Known {
    std::vector<Request> resources;
    Constraint constraints;
    std::int64_t spare = 0;  // spare_slots()
    match::CompiledRequest request;
    std::optional<match::Front> front;
    bool no_front = false;  // there can be none
    std::optional<match::StartBound> bound;
    // The request failed at this time for this long, and nothing was given back since (`freed`).
    struct Failure {
      Time now = 0;
      Duration duration = 0;
      std::uint64_t freed = 0;
      match::Shortage shortage;
    };
    std::optional<Failure> failure;
  };

  // A copy over a graph of its own or, without one, over the other's graph.
  State(const State& other, std::unique_ptr<ResourceGraph> own)
      : own_graph(std::move(own)),
        graph(own_graph ? *own_graph : other.graph),
        options(other.options),
        policy(other.policy),
        occupancy(other.occupancy),
        order(other.order),
        untouched(other.untouched),
        oddities(other.oddities),
        held(other.held),
        ends(other.ends),
        reservations(other.reservations) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  State(ResourceGraph g, StoreOptions o, match::Policy p, match::Filters filters)
      : own_graph(std::make_unique<ResourceGraph>(std::move(g))),
        graph(*own_graph),
        options(std::move(o)),
        policy(p),
        occupancy(graph, std::move(filters)) {
    if (policy.stop_at_first) order = match::VisitOrder(graph);
    oddities = Oddities(graph, options.as_fluxion);
  }

  std::unique_ptr<ResourceGraph> own_graph;  // null: this is a fork, of the store that has it
  const ResourceGraph& graph;
  StoreOptions options;
  match::Policy policy;
  match::Occupancy occupancy;
  match::VisitOrder order;
  // The visit order if nothing had ever been taken; null: not needed yet.
  std::shared_ptr<const match::VisitOrder> untouched;
  match::Search::Scratch scratch;
  ChangeLog changes;
  std::shared_ptr<const int> identity = std::make_shared<const int>(0);  // its address says it
  Oddities oddities;
  std::unordered_map<JobId, Shared<Held>> held;
  std::set<std::pair<Time, JobId>> ends;  // of allocations, not of reservations
  TraversalCounts counts;
  std::vector<std::shared_ptr<Known>> known;  // the last asked first; a clone shares none of them
  std::uint64_t freed = 0;                    // counts what could make room
  std::size_t reservations = 0;               // how many jobs in `held` are reserved
  Time fronts_at = 0;                         // the fronts know what is free at this time

  // Calls visit(vertex, free units) for each vertex up and not taken over `when`, in pre-order.
  template <class Visit>
  void for_each_free(Interval when, Visit visit) const {
    const auto order_of_walk = graph.in_preorder();
    for (std::uint32_t i = 0; i < order_of_walk.size();) {
      const VertexId v = order_of_walk[i];
      if (graph.parent(v) == kNoVertex && v != graph.root()) break;  // outside the tree
      const Amount free = occupancy.free(graph, v, when);
      // a vertex down, gone before the end of it, or taken has nothing to offer below
      const bool open = graph.schedulable(v, when) && free > 0;
      if (open) visit(v, free);
      i = open ? i + 1 : graph.subtree_end(v);
    }
  }

  // Forgets what was compiled against the graph's shape, properties or types before they changed.
  void forget() {
    ++freed;
    known.clear();
  }
  // Holds everything again after the graph's shape has changed, except what is gone.
  void rebuild();

  // ---- store_part.cpp
  // Whom a held vertex was reached from by a link; kNoVertex: from its parent.
  VertexId via(const Allocation& allocation, std::int64_t uniq_id) const;
  // The marks in the order of the shares. O(shares * counted types).
  std::vector<Mark> marks_of(const Held& mine) const;
  // Takes the vertices out of the marks, and their counts out of the marks above them.
  Status unmark(std::vector<Mark>& marks, const std::set<VertexId>& gone) const;
  // The walk of the job's release: every vertex that knows of the job, and the children of those.
  TraversalCounts walk_of(const Held& mine) const;

  // ---- oddities.cpp
  // Units of the first type counted at the root, in all; 0 where nothing is counted there.
  Amount first_total() const;
  void note_growth(Amount more);
  // Can the search not even begin? Only as_fluxion.
  std::optional<MatchOutcome> refuse_early(const match::CompiledRequest& request, MatchOp op,
                                           Interval when) const;
  // Does the plan of the whole machine hide that there is room at `time`? Only as_fluxion.
  bool hides(const match::CompiledRequest& request, Time time) const;

  // ---- store_match.cpp
  Result<MatchOutcome> match(JobId job, const Jobspec& spec, MatchOp op, Time now,
                             Duration duration);
  Result<bool> placeable(const Jobspec& spec);
  Result<std::optional<Time>> earliest_offer(const Jobspec& spec, Time from, Duration duration);
  Result<MatchOutcome> allocate(JobId job, const Jobspec& spec, Interval when, Time now);
  Result<MatchOutcome> extend(JobId job, const Jobspec& more, Time now);
  // The compiled request, from `known` or new. Errors: as match::compile.
  Result<Known*> know(const Jobspec& spec);
  // The order in which a search for what begins at `begin` tries children (visit_order.hpp).
  const match::VisitOrder* order_for(Time begin, Time now);
  void fronts_to(Time now);
  // Notes that something became free or changed in a way that the fronts do not follow one by one.
  void made_room() {
    ++freed;
    for (const auto& one : known)
      if (one->front) one->front->reset();
  }
  // Lets allocations whose end has come without a release hold on until the next tick.
  void extend_overdue(Time now);

  // ---- store_choose.cpp
  Result<Allocation> choose_again(JobId job, const Jobspec& spec,
                                  std::span<const VertexId> best_first, Time now);

  // ---- store_hold.cpp
  // Holds the selection for the job. REQUIRES: it fits, the job holds nothing.
  const Allocation& take(Allocation allocation, std::span<const match::Chosen> selection,
                         bool reserved);
  // The selection that an allocation from outside stands for. Errors: not_found.
  Result<std::vector<match::Chosen>> selection_of(const Allocation& allocation) const;
  void mark_whole(std::vector<match::Chosen>& selection) const;
  // Holds what was held before. Errors: as ResourceStore::update.
  Status impose(const Holding& holding, Time now);
  Status check_free(std::span<const match::Chosen> selection, Interval when) const;
  void drop(JobId job);
  // Holds `shares` instead of what the job holds; labels of what it holds no more go. REQUIRES:
  // they fit in its place.
  void exchange(JobId job, std::vector<Share> shares, Time from);
  void touch(std::span<const match::Chosen> selection, Interval when, Time now, bool dry);
};

// The value of a selection.
Allocation allocation_of(const ResourceGraph& graph, JobId job, Interval when,
                         std::span<const match::Chosen> selection);

}  // namespace holon::resource
