// endpoint.hpp - what lets the agents of other nodes in: a socket, keys for a run, and the
// invitation by which processes there ask for theirs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "instance/basics/options.hpp"
#include "launch/remote/invitation.hpp"
#include "transport/curve/admission.hpp"

namespace holon::instance {

struct Endpoint {
  transport::TcpSocket socket;
  BrokerOptions::Secrets::Keys keys;
  launch::Invitation invitation;
};

// Where other nodes reach such a socket: at `address`, or for "" at those addresses of this machine
// that are worth a try.
std::vector<std::string> endpoint_addresses(const std::string& address, std::uint16_t port);

// Makes the endpoint of an instance of `nodes` nodes, at `address` of this machine ("": at all) and
// `port` (0: any free one). `later`: the port is bound, and nobody can connect before a broker
// listens there. Errors: invalid_argument (the address), unsupported (a libzmq without CURVE),
// system.
Result<Endpoint> make_endpoint(std::size_t nodes, const std::string& address,
                               std::uint16_t port = 0, bool later = false);

}  // namespace holon::instance
