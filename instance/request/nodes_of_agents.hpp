// nodes_of_agents.hpp - which agent stands for which nodes, and so which agents run parts of a job.
#pragma once
#include <cstdint>
#include <vector>

#include "instance/request/placement.hpp"

namespace holon::instance {

class NodesOfAgents {
 public:
  // Each agent stands for an equal part of the nodes, in the order of the ranks of both: for its
  // own node if there are as many. `agents`: their ranks, ascending. REQUIRES: there is one.
  NodesOfAgents(const resource::ResourceGraph& graph, std::vector<std::uint32_t> agents);

  const std::vector<std::uint32_t>& agents() const { return agents_; }
  // The agent of the node with this rank; resources on no node belong to the first agent.
  std::uint32_t agent_of(std::int32_t node) const;
  // The nodes that an agent stands for, by rank.
  std::vector<std::int32_t> nodes_of(std::uint32_t agent) const;
  // The agents that stand for any of these nodes, ascending; of no nodes, the first agent.
  std::vector<std::uint32_t> agents_of(const std::vector<PlacedNode>& nodes) const;
  // The agents that run some of `ntasks` tasks on these nodes (placement.hpp), ascending.
  std::vector<std::uint32_t> agents_for(const std::vector<PlacedNode>& nodes, std::int64_t ntasks,
                                        const SlotShape& shape = {}) const;

 private:
  std::vector<std::int32_t> nodes_;  // ranks, ascending
  std::vector<std::uint32_t> agents_;
};

// The ranks of the nodes of a graph, ascending.
std::vector<std::uint32_t> ranks_of_nodes(const resource::ResourceGraph& graph);

// The part of a job that one agent runs: neighbouring ones of the job's nodes.
struct PlacedPart {
  std::size_t first = 0;  // the first of them, counted over all nodes of the job
  std::vector<PlacedNode> nodes;
};
PlacedPart part_for(const NodesOfAgents& nodes_of_agents, std::vector<PlacedNode> nodes,
                    std::uint32_t agent);

// How many tasks each agent runs, for agents that run any, in the order of their ranks, once
// place_tasks() has placed them.
std::vector<std::uint32_t> tasks_by_part(const NodesOfAgents& nodes_of_agents,
                                         const std::vector<PlacedNode>& nodes);

}  // namespace holon::instance
