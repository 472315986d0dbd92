// drains.hpp - which nodes take no new work, by order of an operator of this instance or of one
// above it. Kept in the journal, so that a drained node stays so whatever happens to the broker.
#pragma once
#include <map>
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
  // All hosts or none. A node that is drained already keeps its reason if no other is given, and
  // leaves if it was about to. Errors: not_found (no such node here), invalid_argument (an instance
  // above drained it, which alone can end that; more hosts than there are nodes).
  Status drain(const Hostlist& hosts, const Drain& why);
  Status undrain(const Hostlist& hosts);
  // Undrains one host, whose node need not be here.
  void lift(const std::string& host);
  // A node has come, which may have been drained while it was away.
  void node_came() { apply(); }
  // Takes what is drained in the instances above; hosts that are not here are ignored.
  void follow(ByHost above);

  // Which nodes are drained and why, for people: "node[0-1]: bad fan; node7: no reason was given".
  // Empty if no reason was given at all.
  std::string reasons() const;

  const ByHost& here() const { return here_; }
  const ByHost& above() const { return above_; }

 private:
  Result<std::vector<std::string>> nodes_among(const Hostlist& hosts) const;
  void keep();
  // Tells the store what has changed.
  void apply();

  Journal& journal_;
  resource::ResourceStore& store_;
  JobManager& jobs_;
  ByHost here_, above_;
};

}  // namespace holon::instance
