#include "instance/assembly/endpoint.hpp"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace holon::instance {
namespace {

constexpr std::size_t kAddresses = 8;  // how many are worth a try

Result<BrokerOptions::Secrets::Keys> new_keys(std::size_t nodes) {
  std::vector<transport::KeyPair> made;
  for (std::size_t i = 0; i < nodes + 2; ++i) {
    auto pair = transport::new_key_pair();
    if (!pair) return tl::unexpected(pair.error());
    made.push_back(std::move(*pair));
  }
  BrokerOptions::Secrets::Keys keys;
  keys.server = std::exchange(made[0], {});
  keys.join = std::exchange(made[1], {});
  keys.agents.assign(made.begin() + 2, made.end());
  if (nodes > 0) keys.agents.front() = {};
  return keys;
}

}  // namespace

std::vector<std::string> endpoint_addresses(const std::string& address, std::uint16_t port) {
  auto addresses = address.empty() ? transport::addresses_of_this_host() : std::vector{address};
  if (addresses.empty()) addresses = {"127.0.0.1"};
  if (addresses.size() > kAddresses) addresses.resize(kAddresses);
  for (auto& one : addresses) one = fmt::format("tcp://{}:{}", one, port);
  return addresses;
}

Result<Endpoint> make_endpoint(std::size_t nodes, const std::string& address, std::uint16_t port,
                               bool later) {
  // Without a network all nodes are on this machine.
  const bool is_alone = address.empty() && transport::addresses_of_this_host().empty();
  const std::string at = is_alone ? "127.0.0.1" : address.empty() ? "0.0.0.0" : address;
  auto socket = later ? transport::bound_socket(at, port) : transport::listening_socket(at, port);
  if (!socket) return fail(socket.error().code, socket.error().what, "instance.address=" + at);
  auto keys = new_keys(nodes);
  if (!keys) return tl::unexpected(keys.error());
  Endpoint endpoint{std::move(*socket), std::move(*keys), {}};
  endpoint.invitation.server_key = endpoint.keys.server.public_key;
  endpoint.invitation.key = endpoint.keys.join;
  endpoint.invitation.addresses = endpoint_addresses(address, endpoint.socket.port);
  return endpoint;
}

}  // namespace holon::instance
