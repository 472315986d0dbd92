// bounds.hpp - how a server for everybody tells that it has refused something to a client whose
// user has too much already (shares.hpp, session.hpp).
#pragma once
#include <string>
#include <string_view>

#include "transport/rpc.hpp"

namespace holon::transport {

// The topic of a request that the server makes itself, to its own request handler, for each such
// refusal. Its peer is 0, which no client has. Its payload says in words what was refused and why;
// its principal is the user, or Kind::unknown with an address as name.
inline constexpr std::string_view kBoundReached = "bound.reached";
// A request made by this process, which needs no answer: it tells that something was refused to
// `who`.
Request request_of(const Principal& who, std::string topic, std::string payload);
// Prefix of the name of a client that has shown a key but not yet its user; its connection counts
// for its address.
inline constexpr std::string_view kStranger = "stranger ";

}  // namespace holon::transport
