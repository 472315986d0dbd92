#include "transport/curve/admission.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holon::transport {
namespace {

constexpr int kWaiting = 1024;  // connections that nobody has accepted yet

}  // namespace

Result<KeyPair> new_key_pair() {
  std::array<char, 41> public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0)
    return fail(Errc::unsupported, "this libzmq was built without CURVE");
  return KeyPair{public_key.data(), secret_key.data()};
}

Result<TcpSocket> bound_socket(const std::string& address, std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1)
    return fail(Errc::invalid_argument, "an IPv4 address is expected, like 10.0.0.7", address);
  TcpSocket socket;
  socket.fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length = sizeof at;
  // A port that is named is taken again at once after a restart.
  const int again = port == 0 ? 0 : 1;
  if (socket.fd) setsockopt(socket.fd.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  if (!socket.fd || bind(socket.fd.get(), reinterpret_cast<sockaddr*>(&at), length) != 0 ||
      getsockname(socket.fd.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0)
    return fail(errno == EADDRNOTAVAIL ? Errc::invalid_argument : Errc::system,
                std::string("cannot listen: ") + std::strerror(errno), address);
  socket.port = ntohs(at.sin_port);
  return socket;
}

Status listen_at(const UniqueFd& socket) {
  if (listen(socket.get(), kWaiting) == 0) return {};
  return fail(Errc::system, std::string("cannot listen: ") + std::strerror(errno));
}

Result<TcpSocket> listening_socket(const std::string& address, std::uint16_t port) {
  auto socket = bound_socket(address, port);
  if (!socket) return socket;
  const auto listens = listen_at(socket->fd);
  if (!listens) return fail(listens.error().code, listens.error().what, address);
  return socket;
}

std::vector<std::string> addresses_of_this_host() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* const at = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (inet_ntop(AF_INET, &at->sin_addr, text.data(), text.size()) != nullptr)
      found.emplace_back(text.data());
  }
  freeifaddrs(all);
  return found;
}

}  // namespace holon::transport
