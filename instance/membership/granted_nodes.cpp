#include "instance/membership/granted_nodes.hpp"

#include <algorithm>
#include <utility>

namespace holon::instance {

bool GrantedNodes::may_come() const {
  return make_place &&
         (!ranks_.empty() || ranks_of_nodes(uses_.store.graph()) == uses_.nodes_of_agents.agents());
}

bool GrantedNodes::is_any_coming(Time since) const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [&](std::uint32_t rank) { return uses_.away.is_coming(rank, since); });
}

Result<std::uint32_t> GrantedNodes::expect(const std::string& host) {
  if (!make_place) return fail(Errc::unsupported, "no agent on another node could reach it");
  if (!may_come()) return fail(Errc::unsupported, "its nodes have no agent each");
  auto place = make_place(host);
  if (!place) return tl::unexpected(place.error());
  uses_.agents.expect_at(place->rank, std::move(place->secret));
  uses_.joining.expect_at(place->rank, host);
  ranks_.insert(place->rank);
  return place->rank;
}

void GrantedNodes::give_up(std::uint32_t rank) {
  if (ranks_.erase(rank) == 0) return;
  uses_.agents.retire(rank);
  uses_.away.forget(rank);
  give_up_place(rank);
}

// Each node has an agent of its own.
void GrantedNodes::renew() {
  uses_.nodes_of_agents = NodesOfAgents(uses_.store.graph(), ranks_of_nodes(uses_.store.graph()));
}

void GrantedNodes::came(const std::vector<Node>& nodes, Time now) {
  renew();
  for (const Node& node : nodes) uses_.away.agent_is_started(node.rank, node.host, now);
  uses_.drains.node_came();
}

void GrantedNodes::left(const std::vector<std::uint32_t>& ranks) {
  for (const std::uint32_t rank : ranks) give_up(rank);
  renew();
}

void GrantedNodes::lose_if_away(std::uint32_t rank, Time now) {
  if (!uses_.agents.has(rank) || uses_.agents.is_connected(rank) || !uses_.away.is_lost(rank))
    return;
  uses_.agents.of(rank).give_up(0, now);
}

}  // namespace holon::instance
