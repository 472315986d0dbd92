#include "launch/remote/place.hpp"

#include "transport/blocking_client.hpp"

namespace holon::launch {
namespace {

// An address behind which nobody answers, because it leads to another network, takes so long.
constexpr Duration kOneTry = 3'000;
constexpr Duration kAnswer = 60'000;

}  // namespace

Result<Place> ask_for_place(const Invitation& invitation, const msg::JoinRequest& ask,
                            Duration patience) {
  transport::Options options;
  options.name = "agent, joining";
  options.security = {invitation.server_key, invitation.key.public_key, invitation.key.secret_key};
  Error last{Errc::disconnected, "no address of the instance is known", {}};
  // A try that fails has waited that long, or found no listener: no clock is needed.
  for (Duration left = patience; left > 0;)
    for (const auto& address : invitation.addresses) {
      left -= kOneTry;
      auto client = transport::BlockingClient::connect(address, kOneTry, options);
      if (!client) {
        last = client.error();
        continue;
      }
      auto reply = client->call<msg::JoinReply>("agent.join", ask, "", kAnswer);
      if (reply) return Place{address, std::move(*reply)};
      last = reply.error();
      if (last.code != Errc::disconnected) return tl::unexpected(last);
    }
  return tl::unexpected(last);
}

}  // namespace holon::launch
