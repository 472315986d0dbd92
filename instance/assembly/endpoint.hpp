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

// Where such a socket is reached from other nodes: at `address`, or where that is "" at those of
// this machine that are worth a try.
std::vector<std::string> endpoint_addresses(const std::string& address, std::uint16_t port);

// For an instance of so many nodes, at `address` of this machine ("": at all of them) and `port`
// (0: any that is free). Errors: invalid_argument (the address), unsupported (a libzmq without
// CURVE), system.
Result<Endpoint> make_endpoint(std::size_t nodes, const std::string& address,
                               std::uint16_t port = 0);

}  // namespace holon::instance
