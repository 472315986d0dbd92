// granted_nodes.hpp - whole nodes that the instance above has given while this one runs
// (docs/elastic.md). The instance above starts an agent of this instance on each: this instance
// makes a place for it, gives its node nothing before it is there, and sends it home when the node
// goes back.
//
// The places are the broker's (AgentAdmission), which keeps them in the journal; which nodes there
// are is in the resource graph.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/agents/away_nodes.hpp"
#include "instance/membership/joining_nodes.hpp"
#include "instance/request/nodes_of_agents.hpp"
#include "instance/resources/drains.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class GrantedNodes {
 public:
  struct Uses {
    const resource::ResourceStore& store;
    NodesOfAgents& nodes_of_agents;
    Agents& agents;
    AwayNodes& away;
    JoiningNodes& joining;
    Drains& drains;
  };
  // `known`: the ranks of nodes that an earlier broker of this run was given.
  GrantedNodes(Uses uses, const std::vector<std::uint32_t>& known)
      : uses_(uses), ranks_(known.begin(), known.end()) {}

  // What the broker does for it: a place for the agent of a host, journalled with this turn; and
  // its end.
  struct Place {
    std::uint32_t rank = 0;
    std::string secret;
  };
  std::function<Result<Place>(const std::string& host)> make_place;  // none: none could reach it
  std::function<void(std::uint32_t rank)> give_up_place = [](std::uint32_t) {};

  // The rank of a host that comes. Errors: unsupported (where agents stand for several nodes, or
  // nothing could reach this instance), exists.
  Result<std::uint32_t> expect(const std::string& host);
  // Nothing has come of it.
  void give_up(std::uint32_t rank);
  // The nodes of expected ranks are in the graph.
  struct Node {
    std::uint32_t rank = 0;
    std::string host;  // its name
  };
  void came(const std::vector<Node>& nodes, Time now);
  // The nodes of these ranks have left the graph.
  void left(const std::vector<std::uint32_t>& ranks);
  // Can nodes come at all?
  bool may_come() const;
  // Is the agent of this node being started, or that of any node, since then at the earliest?
  bool is_coming(std::int32_t rank, Time since) const {
    return has(rank) && uses_.away.is_coming(static_cast<std::uint32_t>(rank), since);
  }
  bool is_any_coming(Time since) const;
  // Has this node come so?
  bool has(std::int32_t rank) const {
    return rank >= 0 && ranks_.contains(static_cast<std::uint32_t>(rank));
  }
  // Counts what runs on a node as lost, if its agent is. An agent that has not come to this broker
  // yet has the time to do so that others have: it may know of ends that were not reported.
  void lose_if_away(std::uint32_t rank, Time now);

 private:
  void renew();

  const Uses uses_;
  std::set<std::uint32_t> ranks_;  // expected or here
};

}  // namespace holon::instance
