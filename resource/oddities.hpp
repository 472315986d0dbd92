// oddities.hpp - where Fluxion's resource-query answers otherwise than its documents say, and its
// users' transcripts depend on it. Asked for by StoreOptions::as_fluxion, else nothing here acts.
//
// Two counts are kept as Fluxion keeps them, that is, not always right:
// - Nodes that are up: counted when the graph is loaded and by changes of status. A status set on a
//   rack counts its nodes again, whatever theirs was; nodes added later are not counted at all. A
//   job that asks for more nodes than that is not even looked at.
// - When the machine grows, the times at which something begins or ends keep the old amount in the
//   index that a search for the earliest start uses, until a job begins or ends around them.
#pragma once
#include <map>

#include "resource/graph/graph.hpp"

namespace holon::resource {

class Oddities {
 public:
  Oddities() = default;
  Oddities(const ResourceGraph& graph, bool act);

  bool act() const { return act_; }
  Amount nodes_up() const { return nodes_up_; }
  // The amount that the index still misses at `time`; 0 if it is right there.
  Amount missing_at(Time time) const;

  // Notes a change of status. REQUIRES: called before the graph is changed.
  void status_changes(const ResourceGraph& graph, VertexId v, bool up);
  void plan_changes(Interval when);
  void forget_at(Time time, Amount missing) { missing_[time] += missing; }

 private:
  bool act_ = false;
  Amount nodes_up_ = 0;
  std::map<Time, Amount> missing_;
};

}  // namespace holon::resource
