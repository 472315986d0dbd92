// store_state.hpp - what is inside a ResourceStore. A private header of resource/store*.cpp.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "resource/graph/graph.hpp"
#include "resource/match/occupancy.hpp"
#include "resource/match/policy.hpp"
#include "resource/match/request.hpp"
#include "resource/match/search.hpp"
#include "resource/match/visit_order.hpp"
#include "resource/store.hpp"

namespace holon::resource {

struct ResourceStore::State {
  // What one job holds.
  struct Held {
    Allocation allocation;
    match::Hold hold;
    bool reserved = false;
  };

  State(ResourceGraph g, StoreOptions o, match::Policy p, match::Filters filters)
      : graph(std::move(g)),
        options(std::move(o)),
        policy(p),
        occupancy(graph, std::move(filters)) {
    if (policy.stop_at_first) order = match::VisitOrder(graph);
  }

  ResourceGraph graph;
  StoreOptions options;
  match::Policy policy;
  match::Occupancy occupancy;
  match::VisitOrder order;
  std::unordered_map<JobId, Held> held;
  std::set<std::pair<Time, JobId>> ends;  // of allocations, not of reservations

  // ---- store_match.cpp
  Result<MatchOutcome> match(JobId job, const Jobspec& spec, MatchOp op, Time now,
                             Duration duration);
  // Allocations whose end has come without a release hold on until the next tick.
  void extend_overdue(Time now);

  // ---- store_hold.cpp
  // Holds the selection for the job. REQUIRES: it fits, the job holds nothing.
  const Allocation& take(Allocation allocation, std::span<const match::Chosen> selection,
                         bool reserved);
  // The selection that an allocation from outside stands for. Errors: not_found.
  Result<std::vector<match::Chosen>> selection_of(const Allocation& allocation) const;
  void mark_whole(std::vector<match::Chosen>& selection) const;
  Status check_free(std::span<const match::Chosen> selection, Interval when) const;
  void drop(JobId job);
  void touch(std::span<const match::Chosen> selection, Interval when, Time now, bool dry);
};

}  // namespace holon::resource
