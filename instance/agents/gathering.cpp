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
}

bool Gathering::complete() const {
  return !own_.bind || others_.size() + 1 >= wanted_;
}

ResourceSource Gathering::resources() const {
  std::vector<NodeTopology> others;
  for (const auto& [rank, node] : others_) others.push_back(node);
  return with_other_nodes(own_, own_host_, others);
}

}  // namespace holon::instance
