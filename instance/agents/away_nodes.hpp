// away_nodes.hpp - nodes whose agent has been away for too long count as down, with that as the
// reason, until it is back. Kept in the journal, so that a later broker gives nothing to them
// either. The tasks there are given up only when the agent, wherever it is, has ended them itself
// for want of a broker.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "instance/basics/clock.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/nodes_of_agents.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class AwayNodes {
 public:
  struct Patience {
    Duration down = 0;                // an agent may be away this long until its nodes are down,
    Duration given_up = 0;            // and this long until its tasks are given up; 0: for ever
    Duration given_up_of_others = 0;  // the latter, for agents that are not beside the broker
  };
  // All arguments must outlive the AwayNodes.
  AwayNodes(Journal& journal, resource::ResourceStore& store, JobManager& jobs,
            const NodesOfAgents& nodes_of_agents, InstanceClock& clock, Patience patience);

  // A broker begins: all agents are away, and nodes that were down are still down. Errors: system.
  Status restore(Time now);
  void agent_came(std::uint32_t rank);
  // `host`: the agent's own name for it.
  void agent_left(std::uint32_t rank, const std::string& host, Time now);
  // The agent's node is known, but the agent is not welcome yet: nothing is placed there before.
  void agent_is_awaited(std::uint32_t rank, const std::string& host, Time now);
  // An agent is being started on a node that has come: nothing is placed there before it is here.
  void agent_is_started(std::uint32_t rank, const std::string& host, Time now);
  // Is an agent being started there that has not come yet? Since when, at the earliest?
  bool is_coming(std::uint32_t rank, Time since) const;
  // Is the agent away, and not only because this broker has begun a moment ago?
  bool is_lost(std::uint32_t rank) const;
  // The instance has no node of this agent any more.
  void forget(std::uint32_t rank);
  // Call before the commit. Returns when to call it again at the latest.
  std::optional<Time> turn(Time now);

  // Has the agent's node left in order, with nothing running there? Then its absence is no news.
  std::function<bool(std::uint32_t rank)> has_left = [](std::uint32_t) { return false; };
  // Called once by turn(): the tasks of this agent are to be given up.
  std::function<void(std::uint32_t rank)> on_given_up = [](std::uint32_t) {};

  bool none() const { return offline_.empty(); }
  // Which nodes are down and why, for people: "node1: its agent has been away since 12:03"; empty:
  // none.
  std::string reasons() const;

 private:
  struct Away {
    Time since = 0;
    std::string host;
    bool is_given_up = false;
  };
  void take_down(std::uint32_t rank, const Away& how);
  void close(std::uint32_t rank, const Away& how);
  void set_up(std::uint32_t rank, bool up);

  Journal& journal_;
  resource::ResourceStore& store_;
  JobManager& jobs_;
  const NodesOfAgents& nodes_of_agents_;
  InstanceClock& clock_;
  Patience patience_;
  std::map<std::uint32_t, Away> away_;
  std::map<std::uint32_t, OfflineAgent> offline_;
};

}  // namespace holon::instance
