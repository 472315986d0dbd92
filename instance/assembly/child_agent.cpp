#include "instance/assembly/child_agent.hpp"

#include <poll.h>

#include <cstdio>

#include "base/text/printable.hpp"
#include "instance/assembly/remote_agent.hpp"
#include "launch/agent.hpp"
#include "msg/instance.hpp"
#include "transport/blocking_client.hpp"

namespace holon::instance {
namespace {

constexpr Duration kOneTry = 5'000;           // to connect
constexpr Duration kParentPatience = 60'000;  // for a parent that is being started again
constexpr int kParentTryAgain = 500;          // ms

// If the parent is gone for good, this process is ended by its agent, or goes with it.
Result<launch::Invitation> ask_parent(const ChildAgentOptions& options) {
  const msg::InvitationRequest ask{options.token, options.job};
  Result<msg::InvitationReply> reply = fail(Errc::disconnected, "", "");
  for (Duration left = kParentPatience; left > 0; left -= kParentTryAgain) {
    auto parent = transport::BlockingClient::connect(options.parent_uri, kOneTry);
    if (parent) left = kParentPatience;
    reply = parent ? parent->call<msg::InvitationReply>("invitation", ask, "", 0)
                   : tl::unexpected(parent.error());
    if (reply) return launch::parse_invitation(reply->invitation);
    if (reply.error().code == Errc::denied || reply.error().code == Errc::unsupported) break;
    poll(nullptr, 0, kParentTryAgain);
  }
  return tl::unexpected(reply.error());
}

}  // namespace

int child_agent_main(const ChildAgentOptions& options) {
  const auto invitation = ask_parent(options);
  if (!invitation) {
    const std::string& host = options.place.hosts[options.place.index];
    std::fputs(("holon agent on " + host + ": its parent lets it in nowhere: " +
                printable_lines(to_string(invitation.error())) + "\n")
                   .c_str(),
               stderr);
    return launch::kAgentCouldNotBegin;
  }
  RemoteAgentOptions agent;
  if (options.place.is_by_name)
    agent.name = options.place.hosts[options.place.index];
  else
    agent.rank = static_cast<std::int64_t>(options.place.index);
  agent.cpuset = options.cpuset;
  agent.log_level = options.log_level;
  return remote_agent_with(*invitation, agent);
}

}  // namespace holon::instance
