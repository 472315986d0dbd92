// admission.hpp - who may connect to a server over tcp: the clients whose CURVE keys it knows, each
// under a name.
//
// A client proves that it has the secret key of a public one; what was recorded of a connection is
// of no use to whoever sends it again, for each side contributes keys of that one connection.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::transport {

// Keys in Z85 text, 40 characters each.
struct KeyPair {
  std::string public_key, secret_key;

  bool operator==(const KeyPair&) const = default;
};

// Makes keys with the kernel's generator. Errors: unsupported (a libzmq without CURVE).
Result<KeyPair> new_key_pair();

struct Admission {
  KeyPair own;  // the server's
  // The name of the client with this public key; "": unknown.
  std::function<std::string(const std::string& public_key)> name_of;
  // Called for each attempt that was not let in. `source`: the address of the other end, without
  // its port; "" if the kernel could not say any more.
  std::function<void(const std::string& source, const std::string& why)> on_refused;
};

// A socket that listens, to be handed to the process that serves, and to the next one after that:
// its port stays, and clients that connect in between wait.
struct TcpSocket {
  UniqueFd fd;
  std::uint16_t port = 0;
};
// Listens at `port` (0: any that is free) of `address`, an IPv4 address of this machine; "0.0.0.0":
// all its addresses. Errors: invalid_argument (no such address), system.
Result<TcpSocket> listening_socket(const std::string& address, std::uint16_t port = 0);
// Likewise, but nobody can connect before Server::also_listen().
Result<TcpSocket> bound_socket(const std::string& address, std::uint16_t port = 0);
// As also_listen() does; harmless where it listens already. Errors: system.
Status listen_at(const UniqueFd& socket);

// Addresses at which others may reach this machine: the IPv4 addresses of interfaces that are up,
// without loopback ones.
std::vector<std::string> addresses_of_this_host();

}  // namespace holon::transport
