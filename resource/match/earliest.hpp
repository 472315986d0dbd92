// earliest.hpp - where a search for the earliest start need not look.
//
// The counters of the whole machine say when enough nodes are idle at each instant; that the same
// nodes are idle all through a job only its nodes can tell. A StartBound asks them: of the N
// vertices a request needs at once, the N-th earliest time at which one of them has room bounds the
// start from below. It only rules out what a search would not find, so the answer does not depend
// on it.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "resource/match/occupancy.hpp"
#include "resource/match/request.hpp"

namespace holon::resource::match {

class StartBound {
 public:
  // A bound that rules nothing out.
  StartBound() = default;
  // REQUIRES: made anew after the graph's shape, properties or types have changed. O(V * needs).
  StartBound(const ResourceGraph& graph, const Occupancy& occupancy,
             const CompiledRequest& request);

 private:
  // The number of these vertices that is needed at once.
  struct Quota {
    std::vector<VertexId> vertices;
    std::size_t wanted = 0;
    bool alone = false;  // nobody else may be on them
    Demand below;        // to be left by their counters
  };
  class Builder;
  friend class StartSearch;

  std::vector<Quota> quotas_;
};

// One search for the earliest start of a job of `duration`, from one time to the next.
// REQUIRES: nothing changes meanwhile.
class StartSearch {
 public:
  StartSearch(const StartBound& bound, const ResourceGraph& graph, const Occupancy& occupancy,
              Duration duration);

  // The first time from `from` on that is not ruled out; nullopt: all are. REQUIRES: `from` is not
  // before that of the last call. O(candidates), and O(log of its spans) for every candidate that
  // has lost its room since.
  std::optional<Time> next(Time from);

 private:
  std::optional<Time> next(std::size_t quota, Time from);
  Time start_of(const StartBound::Quota& quota, VertexId v, Time from) const;

  const StartBound& bound_;
  const ResourceGraph& graph_;
  const Occupancy& occupancy_;
  Duration duration_;
  // The earliest time, where known, at which each vertex of each quota has room, which stays so for
  // all questions up to it.
  std::vector<std::vector<Time>> starts_;
  std::vector<Time> later_;
};

}  // namespace holon::resource::match
