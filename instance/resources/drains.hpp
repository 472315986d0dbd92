// drains.hpp - which nodes take no new work, by order of an operator of this instance or of one
// above it. Kept in the journal, so that a drained node stays so whatever happens to the broker.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/hostlist.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/rows.hpp"
#include "instance/manager/manager.hpp"
#include "resource/store.hpp"

namespace holon::instance {

struct Drain {
  std::string reason;  // for people; empty: none was given
  Time since = 0;      // by the wall clock
  NodeLeave leave = NodeLeave::stays;
};

class Drains {
 public:
  using ByHost = std::map<std::string, Drain>;

  // All arguments must outlive it.
  Drains(Journal& journal, resource::ResourceStore& store, JobManager& jobs)
      : journal_(journal), store_(store), jobs_(jobs) {}

  // Restores the drains of the journal. Call when recovered jobs hold their nodes. Errors: system.
  Status restore();
  // All hosts or none. A node may have gone since it was drained here; it is undrained likewise,
  // for when it comes again. A node that is drained already keeps its reason if no other is given,
  // and leaves if it was about to. Errors: not_found (no such node here), invalid_argument (an
  // instance above drained it, which alone can end that; more hosts than there are nodes).
  Status drain(const Hostlist& hosts, const Drain& why);
  Status undrain(const Hostlist& hosts);
  // Undrains one host, whose node need not be here.
  void lift(const std::string& host);
  // A node has come, which may have been drained while it was away.
  void node_came() { apply(); }
  // Takes what is drained in the instances above. Hosts that are not here may come.
  void follow(ByHost above);

  // Which nodes are drained and why, for people: "node[0-1]: bad fan; node7: no reason was given".
  // Empty if no reason was given at all.
  std::string reasons() const;

  // The nodes that go back to the instance above: they take no new work, whoever undrains them.
  std::function<std::set<resource::VertexId>()> nodes_going_back = [] {
    return std::set<resource::VertexId>();
  };
  // Called after each change of what is drained, with the journal.
  std::function<void()> on_changed = [] {};

  const ByHost& here() const { return here_; }
  const ByHost& above() const { return above_; }
  // Those of nodes that are here.
  ByHost above_here() const;

 private:
  Result<std::vector<std::string>> nodes_among(const Hostlist& hosts,
                                               const std::set<std::string>& known) const;
  void keep();
  // Tells the store what has changed.
  void apply();

  Journal& journal_;
  resource::ResourceStore& store_;
  JobManager& jobs_;
  ByHost here_, above_;
};

}  // namespace holon::instance
