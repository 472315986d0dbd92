#include "transport/tcp_connection.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

namespace holon::transport {
namespace {

constexpr std::string_view kTcp = "tcp://";

Error connect_error(int number, const std::string& where) {
  return {number == ECONNREFUSED ? Errc::disconnected : Errc::system, std::strerror(number), where};
}

Result<sockaddr_in> address_of(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &wanted, &first);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(first, &freeaddrinfo);
  if (failed != 0 || !found) return fail(Errc::not_found, gai_strerror(failed), host);
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

Result<UniqueFd> connect_tcp(const std::string& host, std::uint16_t port, Duration patience) {
  const auto address = address_of(host, port);
  if (!address) return tl::unexpected(address.error());
  const std::string where = host + ":" + std::to_string(port);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Errc::system, std::strerror(errno), where);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0)
    return socket;
  if (errno != EINPROGRESS) return tl::unexpected(connect_error(errno, where));
  pollfd ready{socket.get(), POLLOUT, 0};
  const int answers = poll(&ready, 1, static_cast<int>(patience));
  if (answers == 0) return fail(Errc::timed_out, "nobody answers", where);
  int problem = 0;
  socklen_t size = sizeof problem;
  if (answers < 0 || getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0)
    problem = errno;
  if (problem != 0) return tl::unexpected(connect_error(problem, where));
  return socket;
}

bool is_nobody_there(const std::string& uri, Duration patience) {
  const auto colon = uri.rfind(':');
  if (!uri.starts_with(kTcp) || colon < kTcp.size()) return false;
  std::uint16_t port = 0;
  const char* const end = uri.data() + uri.size();
  if (std::from_chars(uri.data() + colon + 1, end, port).ptr != end) return false;
  const std::string host = uri.substr(kTcp.size(), colon - kTcp.size());
  const auto connected = connect_tcp(host, port, patience);
  return !connected && connected.error().code == Errc::disconnected;
}

}  // namespace holon::transport
