#include "instance/request/nodes_of_agents.hpp"

#include <algorithm>
#include <optional>

#include "base/check.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {

NodesOfAgents::NodesOfAgents(const resource::ResourceGraph& graph,
                             std::vector<std::uint32_t> agents)
    : nodes_(graph.ranks()), agents_(std::move(agents)) {
  HOLON_CHECK(!agents_.empty());
}

std::vector<std::uint32_t> ranks_of_nodes(const resource::ResourceGraph& graph) {
  const auto ranks = graph.ranks();
  return {ranks.begin(), ranks.end()};
}

std::uint32_t NodesOfAgents::agent_of(std::int32_t node) const {
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node);
  if (found == nodes_.end() || *found != node) return agents_.front();
  const auto place = static_cast<std::size_t>(found - nodes_.begin());
  return agents_[place * agents_.size() / nodes_.size()];
}

std::vector<std::int32_t> NodesOfAgents::nodes_of(std::uint32_t agent) const {
  std::vector<std::int32_t> own;
  for (const std::int32_t node : nodes_)
    if (agent_of(node) == agent) own.push_back(node);
  return own;
}

std::vector<std::uint32_t> NodesOfAgents::agents_of(const std::vector<PlacedNode>& nodes) const {
  if (nodes.empty()) return {agents_.front()};
  std::vector<std::uint32_t> agents;
  for (const PlacedNode& node : nodes)
    if (const auto agent = agent_of(node.rank); agents.empty() || agents.back() != agent)
      agents.push_back(agent);
  return agents;
}

std::vector<std::uint32_t> NodesOfAgents::agents_for(const std::vector<PlacedNode>& nodes,
                                                     std::int64_t ntasks,
                                                     const SlotShape& shape) const {
  if (nodes.empty()) return {agents_.front()};
  const std::uint32_t first = agent_of(nodes.front().rank);
  if (agent_of(nodes.back().rank) == first) return {first};
  std::vector<std::uint32_t> agents;
  for (const std::size_t node : nodes_with_tasks(nodes, ntasks, shape))
    if (const auto agent = agent_of(nodes[node].rank); agents.empty() || agents.back() != agent)
      agents.push_back(agent);
  return agents;
}

std::vector<std::uint32_t> tasks_by_part(const NodesOfAgents& nodes_of_agents,
                                         const std::vector<PlacedNode>& nodes) {
  std::vector<std::uint32_t> tasks;
  std::optional<std::uint32_t> last;
  for (const PlacedNode& node : nodes) {
    if (node.tasks.empty()) continue;
    const std::uint32_t agent = nodes_of_agents.agent_of(node.rank);
    if (last != agent) tasks.push_back(0);
    last = agent;
    tasks.back() += static_cast<std::uint32_t>(node.tasks.size());
  }
  return tasks;
}

PlacedPart part_for(const NodesOfAgents& nodes_of_agents, std::vector<PlacedNode> nodes,
                    std::uint32_t agent) {
  const auto is_own = [&](const PlacedNode& node) {
    return nodes_of_agents.agent_of(node.rank) == agent;
  };
  const auto first = std::find_if(nodes.begin(), nodes.end(), is_own);
  const auto last = std::find_if_not(first, nodes.end(), is_own);
  PlacedPart part;
  part.first = static_cast<std::size_t>(first - nodes.begin());
  part.nodes.assign(std::move_iterator(first), std::move_iterator(last));
  return part;
}

}  // namespace holon::instance
