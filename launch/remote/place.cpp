#include "launch/remote/place.hpp"

#include <algorithm>

#include "transport/blocking_client.hpp"
#include "transport/tcp_connection.hpp"

namespace holon::launch {
namespace {

// The patience with an address at which nobody answers, because it leads to another network.
constexpr Duration kOneTry = 3'000;
constexpr Duration kAnswer = 60'000;
constexpr Duration kRefusal = 1'000;  // for a machine to say that nobody listens

// The socket of an instance listens as long as the instance lives, even while its broker is
// restarted.
bool is_over(const std::vector<std::string>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const auto& address) {
    return transport::is_nobody_there(address, kRefusal);
  });
}

}  // namespace

Result<AgentPlace> ask_for_place(const Invitation& invitation, const msg::JoinRequest& ask,
                                 Duration patience) {
  transport::Options options;
  options.name = "agent, joining";
  options.security = {invitation.server_key, invitation.key.public_key, invitation.key.secret_key};
  Error last{Errc::disconnected, "no address of the instance is known", {}};
  // A failed try has waited that long, or found no listener: no clock is needed.
  for (Duration left = patience; left > 0;) {
    for (const auto& address : invitation.addresses) {
      left -= kOneTry;
      auto client = transport::BlockingClient::connect(address, kOneTry, options);
      if (!client) {
        last = client.error();
        continue;
      }
      auto reply = client->call<msg::JoinReply>("agent.join", ask, "", kAnswer);
      if (reply) return AgentPlace{address, std::move(*reply)};
      last = reply.error();
      if (last.code != Errc::disconnected) return tl::unexpected(last);
    }
    if (is_over(invitation.addresses))
      return fail(Errc::not_found, "nobody listens there: the instance has ended",
                  invitation.addresses.front());
  }
  return tl::unexpected(last);
}

}  // namespace holon::launch
