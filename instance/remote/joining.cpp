#include "instance/remote/joining.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/printable.hpp"
#include "batch/hosts.hpp"
#include "launch/tracking/lineage.hpp"

namespace holon::instance {
namespace {

constexpr std::string_view kAgentName = "agent ";
constexpr std::size_t kHostsToName = 16;

}  // namespace

bool is_agent(const transport::Principal& who) {
  return who.kind == transport::Principal::Kind::key && who.name.starts_with(kAgentName);
}

bool may_be_agent(const transport::Principal& who, std::uint32_t rank) {
  return who.kind != transport::Principal::Kind::key ||
         who.name == fmt::format("{}{}", kAgentName, rank);
}

Joining::Joining(const BrokerOptions& options, Duration orphan_timeout)
    : hosts_(options.hosts), secrets_(options.secrets), orphan_timeout_(orphan_timeout) {}

std::string Joining::name_of(const std::string& public_key) const {
  if (public_key.empty()) return "";
  if (public_key == secrets_.keys.join.public_key) return kJoiner;
  for (std::size_t rank = 0; rank < secrets_.keys.agents.size(); ++rank)
    if (public_key == secrets_.keys.agents[rank].public_key)
      return fmt::format("{}{}", kAgentName, rank);
  return "";
}

Result<std::uint32_t> Joining::rank_of(const launch::msg::JoinRequest& ask) const {
  if (ask.rank >= 0 && static_cast<std::size_t>(ask.rank) < hosts_.size())
    return static_cast<std::uint32_t>(ask.rank);
  if (ask.rank < 0)
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank)
      if (batch::is_same_host(hosts_[rank], ask.host)) return static_cast<std::uint32_t>(rank);
  const auto shown = std::vector(
      hosts_.begin(),
      hosts_.begin() + static_cast<std::ptrdiff_t>(std::min(hosts_.size(), kHostsToName)));
  return fail(Errc::not_found,
              fmt::format("{} is none of the {} nodes of this instance: {}{}",
                          ask.rank < 0 ? printable(ask.host) : fmt::format("rank {}", ask.rank),
                          hosts_.size(), fmt::join(shown, ", "),
                          shown.size() < hosts_.size() ? ", ..." : ""));
}

Result<launch::msg::JoinReply> Joining::place_for(
    const launch::msg::JoinRequest& ask,
    const std::function<bool(std::uint32_t rank)>& is_connected) const {
  const auto rank = rank_of(ask);
  if (!rank) return tl::unexpected(rank.error());
  launch::msg::JoinReply place;
  place.rank = *rank;
  place.host = hosts_[*rank];
  if (*rank == 0) return place;
  if (is_connected(*rank))
    return fail(Errc::exists,
                fmt::format("the agent of rank {}, {}, is there already", *rank, place.host));
  const auto& key = secrets_.keys.agents.at(*rank);
  place.public_key = key.public_key;
  place.secret_key = key.secret_key;
  place.secret = secrets_.agents.at(*rank);
  const char* const lineage = std::getenv(launch::kLineage);
  place.lineage = lineage != nullptr ? lineage : "";
  place.orphan_timeout = orphan_timeout_;
  return place;
}

}  // namespace holon::instance
