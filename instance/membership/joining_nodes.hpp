// joining_nodes.hpp - nodes whose agent comes after the instance has begun: their units are added
// to the resource graph and the plan, and kept in the journal for every later broker.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/nodes_of_agents.hpp"
#include "instance/resources/drains.hpp"
#include "instance/resources/resources.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class JoiningNodes {
 public:
  // `hosts`: by rank, as in BrokerOptions. All other arguments must outlive it.
  JoiningNodes(Journal& journal, resource::ResourceStore& store, NodesOfAgents& nodes_of_agents,
               JobManager& jobs, Drains& drains, std::vector<std::string> hosts)
      : journal_(journal),
        store_(store),
        nodes_of_agents_(nodes_of_agents),
        jobs_(jobs),
        drains_(drains),
        hosts_(std::move(hosts)) {}

  // Call before the commit. All of the node's units become up and free, and jobs that wait for them
  // are looked at again. Nothing has changed after an error. Errors: unsupported (declared
  // resources), not_found (the topology is given by a digest that no node of the instance has),
  // invalid_argument (not a topology), exists (a node of that name or rank is here), system. O(V).
  Status take_in(NodeTopology node);

  // One more node may come, with the rank behind the last one.
  void expect(std::string host) { hosts_.push_back(std::move(host)); }

  // Likewise at a rank of those that may come, or the next one.
  void expect_at(std::uint32_t rank, std::string host) {
    if (rank >= hosts_.size()) hosts_.resize(rank + 1);
    hosts_[rank] = std::move(host);
  }

  // Says in a clause that these ranks are still to come: "n[2-3] have not come yet"; "": none is.
  std::string awaited(const std::vector<std::uint32_t>& ranks) const;

 private:
  Status check_new(const NodeTopology& node) const;
  std::string own_host() const;

  Journal& journal_;
  resource::ResourceStore& store_;
  NodesOfAgents& nodes_of_agents_;
  JobManager& jobs_;
  Drains& drains_;
  std::vector<std::string> hosts_;
};

}  // namespace holon::instance
