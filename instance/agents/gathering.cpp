#include "instance/agents/gathering.hpp"

#include <algorithm>

#include "instance/agents/agent_admission.hpp"
#include "launch/messages.hpp"
#include "launch/topology.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"

namespace holon::instance {

Gathering::Gathering(ResourceSource own, std::string own_host, std::vector<std::string> secrets,
                     std::uint32_t quorum)
    : own_(std::move(own)),
      own_host_(std::move(own_host)),
      secrets_(std::move(secrets)),
      wanted_(quorum == 0 ? secrets_.size() : std::min<std::size_t>(quorum, secrets_.size())) {
  if (!own_.bind) return;
  std::string own_topology = launch::portable_topology(own_.text);
  topologies_.emplace(launch::topology_digest(own_topology), std::move(own_topology));
}

void Gathering::hear(const transport::Request& request) {
  if (request.topic() != "agent.hello" || !own_.bind) return;
  const auto hello = transport::unpack<launch::msg::Hello>(request.payload());
  if (!hello || hello->rank == 0 || hello->rank >= secrets_.size()) return;
  if (!may_be_agent(request.principal(), hello->rank) ||
      !transport::is_same_secret(hello->secret, secrets_[hello->rank]))
    return;
  by_peer_[request.peer()] = hello->rank;
  Other& other = others_[hello->rank] = {hello->hostname, hello->topology_digest};
  if (hello->topology.empty()) {
    other.hello = request;
    return ask_for(other.digest);
  }
  std::string topology = launch::portable_topology(hello->topology);
  other.digest = launch::topology_digest(topology);
  topologies_.try_emplace(other.digest, std::move(topology));
}

// Asks one of the agents that have this topology for it; the hellos of all wait.
void Gathering::ask_for(const std::string& digest) {
  if (digest.empty() || topologies_.contains(digest)) return;
  const auto has_it = [&](const auto& other) { return other.second.digest == digest; };
  const auto is_asked = [&](const auto& other) { return has_it(other) && other.second.is_asked; };
  if (std::any_of(others_.begin(), others_.end(), is_asked)) return;
  const auto first = std::find_if(others_.begin(), others_.end(), has_it);
  if (first == others_.end() || !first->second.hello) return;
  first->second.is_asked = true;
  launch::msg::Welcome welcome;
  welcome.wants_topology = true;
  first->second.hello->reply(transport::pack(welcome));
}

void Gathering::peer_lost(transport::PeerId peer) {
  const auto lost = by_peer_.extract(peer);
  if (lost.empty()) return;
  const auto is_its = [&](const auto& other) { return other.second == lost.mapped(); };
  if (std::any_of(by_peer_.begin(), by_peer_.end(), is_its)) return;
  const auto other = others_.extract(lost.mapped());
  if (other) ask_for(other.mapped().digest);
}

bool Gathering::complete(std::size_t lost) const {
  const auto is_known = [this](const auto& other) {
    return topologies_.contains(other.second.digest) || other.second.digest.empty();
  };
  const auto here =
      static_cast<std::size_t>(std::count_if(others_.begin(), others_.end(), is_known)) + 1;
  return !own_.bind || here >= wanted_ || here + lost >= secrets_.size();
}

ResourceSource Gathering::resources() const {
  std::vector<NodeTopology> others;
  for (const auto& [rank, node] : others_) {
    const auto topology = topologies_.find(node.digest);
    if (topology == topologies_.end() && !node.digest.empty()) continue;  // it came too late
    others.push_back(
        {rank, node.host, topology == topologies_.end() ? "" : topology->second, node.digest});
  }
  return with_other_nodes(own_, own_host_, others);
}

}  // namespace holon::instance
