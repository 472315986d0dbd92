#include "instance/agents/gathering.hpp"

#include <algorithm>

#include "instance/remote/joining.hpp"
#include "launch/messages.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"

namespace holon::instance {

Gathering::Gathering(ResourceSource own, std::string own_host, std::vector<std::string> secrets,
                     std::uint32_t quorum)
    : own_(std::move(own)),
      own_host_(std::move(own_host)),
      secrets_(std::move(secrets)),
      wanted_(quorum == 0 ? secrets_.size() : std::min<std::size_t>(quorum, secrets_.size())) {}

void Gathering::hear(const transport::Request& request) {
  if (request.topic() != "agent.hello" || !own_.bind) return;
  const auto hello = transport::unpack<launch::msg::Hello>(request.payload());
  if (!hello || hello->rank == 0 || hello->rank >= secrets_.size()) return;
  if (!may_be_agent(request.principal(), hello->rank) ||
      !transport::is_same_secret(hello->secret, secrets_[hello->rank]))
    return;
  others_[hello->rank] = {hello->rank, hello->hostname, hello->topology};
  by_peer_[request.peer()] = hello->rank;
}

void Gathering::peer_lost(transport::PeerId peer) {
  const auto lost = by_peer_.extract(peer);
  if (lost.empty()) return;
  const auto is_its = [&](const auto& other) { return other.second == lost.mapped(); };
  if (std::none_of(by_peer_.begin(), by_peer_.end(), is_its)) others_.erase(lost.mapped());
}

bool Gathering::complete(std::size_t lost) const {
  const std::size_t here = others_.size() + 1;
  return !own_.bind || here >= wanted_ || here + lost >= secrets_.size();
}

ResourceSource Gathering::resources() const {
  std::vector<NodeTopology> others;
  for (const auto& [rank, node] : others_) others.push_back(node);
  return with_other_nodes(own_, own_host_, others);
}

}  // namespace holon::instance
