#include "instance/agents/agent_admission.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/text/printable.hpp"
#include "batch/hosts.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

constexpr std::string_view kAgentName = "agent ";
constexpr std::string_view kGuestName = "join ";
constexpr std::size_t kInvitations = 1'000;  // that are remembered
constexpr std::size_t kHostsToName = 16;

// Is the text a name that a list of hosts, a path or a shell takes for nothing else?
bool is_host_name(const std::string& text) {
  constexpr std::string_view kMarks = ".-_";
  return !text.empty() && text.front() != '-' && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           return is_letter || (c >= '0' && c <= '9') || kMarks.find(c) != std::string_view::npos;
         });
}

}  // namespace

bool is_joiner(const transport::Principal& who) {
  return who.kind == transport::Principal::Kind::key &&
         (who.name == kJoiner || who.name.starts_with(kGuestName));
}

bool is_agent(const transport::Principal& who) {
  return who.kind == transport::Principal::Kind::key && who.name.starts_with(kAgentName);
}

bool may_be_agent(const transport::Principal& who, std::uint32_t rank) {
  return who.kind != transport::Principal::Kind::key || who.name == name_of_agent(rank);
}

std::string name_of_agent(std::uint32_t rank) {
  return fmt::format("{}{}", kAgentName, rank);
}

// Otherwise a MUNGE principal has the address of a machine as its name.
bool is_vouched_by(const transport::Principal& who, std::uint32_t rank) {
  return who.kind == transport::Principal::Kind::munge && who.name == name_of_agent(rank);
}

AgentAdmission::AgentAdmission(const BrokerOptions& options, Duration orphan_timeout)
    : hosts_(options.hosts), secrets_(options.secrets), orphan_timeout_(orphan_timeout) {}

std::string AgentAdmission::name_of(const std::string& public_key) const {
  if (public_key.empty()) return "";
  if (public_key == secrets_.keys.join.public_key) return kJoiner;
  for (const auto& invitation : invited_.invitations)
    if (public_key == invitation.key.public_key)
      return fmt::format("{}{}", kGuestName, invitation.number);
  for (std::size_t rank = 0; rank < secrets_.keys.agents.size(); ++rank)
    if (public_key == secrets_.keys.agents[rank].public_key)
      return name_of_agent(static_cast<std::uint32_t>(rank));
  return "";
}

void AgentAdmission::expect(const InvitedNodes::Node& node) {
  hosts_.push_back(node.host);
  secrets_.agents.push_back(node.secret);
  secrets_.keys.agents.push_back(node.key);
}

void AgentAdmission::restore(InvitedNodes guests) {
  invited_ = std::move(guests);
  for (const auto& node : invited_.nodes) expect(node);
}

Result<transport::KeyPair> AgentAdmission::invite(Time until, std::uint64_t uses) {
  auto key = transport::new_key_pair();
  if (!key) return key;
  auto& all = invited_.invitations;
  const std::uint64_t number = all.empty() ? 0 : all.back().number + 1;
  all.push_back({number, *key, until, uses});
  if (all.size() <= kInvitations) return key;
  const auto used = std::find_if(all.begin(), all.end(), [](const auto& i) { return i.left == 0; });
  all.erase(used == all.end() ? all.begin() : used);
  return key;
}

Status AgentAdmission::add_invited(const std::string& host) {
  auto key = transport::new_key_pair();
  if (!key) return tl::unexpected(key.error());
  invited_.nodes.push_back({host, std::move(*key), transport::new_secret()});
  expect(invited_.nodes.back());
  return {};
}

Result<std::uint32_t> AgentAdmission::make_place(const std::string& host) {
  const auto own = hosts_.size() - invited_.nodes.size();
  const auto known = std::find_if(hosts_.begin(), hosts_.end(), [&](const std::string& other) {
    return batch::is_same_host(other, host);
  });
  const auto rank = static_cast<std::size_t>(known - hosts_.begin());
  if (known == hosts_.end()) {
    if (auto added = add_invited(host); !added) return tl::unexpected(added.error());
    return static_cast<std::uint32_t>(rank);
  }
  if (rank < own || !secrets_.agents[rank].empty())
    return fail(Errc::exists, "it has an agent there already", host);
  auto key = transport::new_key_pair();
  if (!key) return tl::unexpected(key.error());
  put(rank, std::move(*key), transport::new_secret());
  return static_cast<std::uint32_t>(rank);
}

void AgentAdmission::give_up_place(std::uint32_t rank) {
  put(rank, {}, {});
}

void AgentAdmission::put(std::size_t rank, transport::KeyPair key, std::string secret) {
  InvitedNodes::Node& node = invited_.nodes.at(rank - (hosts_.size() - invited_.nodes.size()));
  node.key = secrets_.keys.agents.at(rank) = std::move(key);
  node.secret = secrets_.agents.at(rank) = std::move(secret);
}

Result<InvitedNodes::Invitation*> AgentAdmission::invitation_of(const transport::Principal& who,
                                                                Time wall) {
  const auto is_its = [&](const auto& one) {
    return who.name == fmt::format("{}{}", kGuestName, one.number);
  };
  auto& all = invited_.invitations;
  const auto found = std::find_if(all.begin(), all.end(), is_its);
  if (found == all.end() || found->left == 0)
    return fail(Errc::denied, "agent.join: this invitation has been used");
  if (found->until <= wall) return fail(Errc::denied, "agent.join: this invitation has expired");
  return &*found;
}

Result<launch::msg::JoinReply> AgentAdmission::place_for_invited(
    const transport::Principal& who, const launch::msg::JoinRequest& ask,
    const std::function<bool(std::uint32_t rank)>& is_connected, Time wall) {
  constexpr std::size_t kLongestHostName = 255;
  const auto invitation = invitation_of(who, wall);
  if (!invitation) return tl::unexpected(invitation.error());
  if (ask.rank >= 0 || ask.host.size() > kLongestHostName || !is_host_name(ask.host))
    return fail(Errc::invalid_argument,
                fmt::format("agent.join: '{:.100}' is no name of a node; letters, digits, '.', "
                            "'-' and '_' are accepted",
                            printable(ask.host)),
                "host");
  if (batch::is_same_host(hosts_.front(), ask.host))
    return fail(Errc::exists, fmt::format("{} is the node of the broker", ask.host));
  if (!rank_of(ask))
    if (auto added = add_invited(ask.host); !added) return tl::unexpected(added.error());
  auto place = place_for(ask, is_connected);
  if (place) --(*invitation)->left;
  return place;
}

Result<std::uint32_t> AgentAdmission::rank_of(const launch::msg::JoinRequest& ask) const {
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

Result<launch::msg::JoinReply> AgentAdmission::place_for(
    const launch::msg::JoinRequest& ask,
    const std::function<bool(std::uint32_t rank)>& is_connected) const {
  const auto rank = rank_of(ask);
  if (!rank) return tl::unexpected(rank.error());
  launch::msg::JoinReply place;
  place.rank = *rank;
  place.host = hosts_[*rank];
  if (*rank == 0) return place;
  if (secrets_.agents.at(*rank).empty())
    return fail(Errc::denied, fmt::format("{} is none of its nodes any more", place.host));
  if (is_connected(*rank))
    return fail(Errc::exists,
                fmt::format("the agent of rank {}, {}, is there already", *rank, place.host));
  const auto& key = secrets_.keys.agents.at(*rank);
  place.public_key = key.public_key;
  place.secret_key = key.secret_key;
  place.secret = secrets_.agents.at(*rank);
  const char* const lineage = std::getenv(kLineage);
  place.lineage = lineage != nullptr ? lineage : "";
  place.orphan_timeout = orphan_timeout_;
  return place;
}

}  // namespace holon::instance
