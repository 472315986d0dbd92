#include "transport/curve/callers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include <array>
#include <utility>

namespace holon::transport {
namespace {

// A connection that is gone has left its descriptor to others: then the address is that of another
// connection, or none.
std::string source_of(std::uint32_t descriptor) {
  sockaddr_in from{};
  socklen_t length = sizeof from;
  std::array<char, INET_ADDRSTRLEN> text{};
  if (getpeername(static_cast<int>(descriptor), reinterpret_cast<sockaddr*>(&from), &length) != 0 ||
      from.sin_family != AF_INET ||
      inet_ntop(AF_INET, &from.sin_addr, text.data(), text.size()) == nullptr)
    return {};
  return text.data();
}

}  // namespace

int Callers::events() {
  return ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
}

void Callers::hear(int number, std::uint32_t value, const Refused& refused) {
  if (number == ZMQ_EVENT_ACCEPTED) {
    sources_[value] = source_of(value);
  } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) {
    failed_ = "it does not speak as somebody with a key does";
  } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
    failed_ = "it went, or said nothing, before it had shown a key";
  } else if (number == ZMQ_EVENT_DISCONNECTED) {
    const auto known = sources_.extract(value);
    const std::string why = std::exchange(failed_, "");
    if (!why.empty() && refused) refused(known.empty() ? "" : known.mapped(), why);
  }
}

}  // namespace holon::transport
