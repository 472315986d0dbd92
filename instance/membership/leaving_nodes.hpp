// leaving_nodes.hpp - nodes that leave the instance in order: they take no new work, the jobs there
// end, and then their agent does.
//
// The leaving is kept with the node's drain (NodeLeave): a restarted broker goes on with it, though
// nobody waits for its answer any more.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/membership/granted_nodes.hpp"
#include "instance/request/nodes_of_agents.hpp"
#include "instance/resources/drains.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class LeavingNodes {
 public:
  // All arguments must outlive it.
  LeavingNodes(resource::ResourceStore& store, const NodesOfAgents& nodes_of_agents,
               const GrantedNodes& granted, JobManager& jobs, Agents& agents, Drains& drains,
               AfterCommit& after_commit)
      : store_(store),
        nodes_of_agents_(nodes_of_agents),
        granted_(granted),
        jobs_(jobs),
        agents_(agents),
        drains_(drains),
        after_commit_(after_commit) {}

  // A whole node that a child has by this grant, which is to leave.
  struct Lent {
    JobId grant;
    std::uint32_t rank = 0;
    bool by_force = false;  // what the child has running there ends
    std::string why;
  };
  // Recalls it, for good once this turn is committed.
  std::function<void(const Lent& node, Time now)> recall = [](const Lent&, Time) {};

  // "node.leave" (msg::LeaveRequest), answered once the agent was told to end. `wall`: now.
  void ask(const transport::Request& request, Time wall, Time now);
  // Likewise for a node that will be gone soon, when nobody waits for an answer. Jobs that would
  // last longer than `end` fail with the loss of their node, the others end by themselves;
  // kTimeMax: all do. A node that was asked to leave before goes on as it was asked.
  struct Reason {
    std::string why;
    Time end = 0;
  };
  void send_away(std::uint32_t rank, const Reason& reason, Time wall, Time now);
  // Does the agent stay, with nothing placed on its node, now or later?
  bool is_idle(std::uint32_t rank) const;
  // Restores what an earlier broker of this run knew of nodes about to come back.
  void restore();
  // Call before the commit, and before turn(): an agent that was sent home and is here is told
  // again, and nodes whose next agent has come take work again.
  void look_after_all();
  // Call before the commit: nodes on which nothing is left are sent home.
  void turn(Time now);
  // Was the node's agent told to end? It may still be on its way out.
  bool is_sent_home(std::uint32_t rank) const { return sent_home_.contains(rank); }
  // Has this node left, or is it about to? The journal is looked at, too.
  bool has_left(std::uint32_t rank) const;
  // Has the node left, with nothing running there any more?
  bool is_gone(std::uint32_t rank) const { return has_left(rank) && jobs_on(rank).empty(); }
  // All nodes that are gone, which the graph still has. O(nodes), and O(running jobs) for each that
  // has left.
  std::vector<resource::VertexId> gone() const;
  // The node's place was given to another agent: once that has come, the node takes work again.
  void expect_back(std::uint32_t rank, Time wall);
  // In a new run: nodes that had left an earlier run take work again if this one has them.
  void forget();
  // The instance ends: waiting requests are answered with `why`.
  void close(const Error& why);

 private:
  struct Node {
    std::uint32_t rank = 0;
    std::string host;
  };
  struct Leaving {
    Node node;
    transport::Request request;
    bool by_force = false;  // jobs there are ended
  };
  // An agent that is to end: the process, and the connection over which it was last told;
  // PeerId{0}: it was away. A message over a connection that is lost may be lost with it.
  struct SentHome {
    std::uint64_t incarnation = 0;
    transport::PeerId told_to{0};
    bool is_replaced = false;  // its place was given to another agent since
  };
  Result<Node> node_named(const std::string& host) const;
  Status can_leave(const Node& node) const;
  void look_after(std::uint32_t rank, SentHome& agent);
  void send_home(std::uint32_t rank);
  void go_on();
  std::string name_of(std::uint32_t rank) const;
  bool has_left(const Node& node) const;
  void take_back(const std::string& host);
  std::vector<JobId> jobs_on(std::uint32_t rank) const;
  bool is_on(const ActiveJob& job, std::uint32_t rank) const;
  void recall_all(const Leaving& leaving, Time now);

  resource::ResourceStore& store_;
  const NodesOfAgents& nodes_of_agents_;
  const GrantedNodes& granted_;
  JobManager& jobs_;
  Agents& agents_;
  Drains& drains_;
  AfterCommit& after_commit_;
  std::list<Leaving> leaving_;
  std::map<std::uint32_t, SentHome> sent_home_;  // by rank
};

}  // namespace holon::instance
