// hosts.cpp - the C library's functions that ask for hosts, in a static program (accounts.cpp says
// why). libzmq resolves each address by these, numeric ones, too. Services are numbers.
#include "standalone/hosts.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using holon::Result;
using holon::standalone::HostAddress;

// ms: a second server of names is asked after 5 s.
constexpr holon::Duration kPatience = 12'000;

constexpr std::pair<int, int> kKinds[] = {
    {SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, IPPROTO_UDP}, {SOCK_RAW, 0}};

// An answer and the memory of its address: freeaddrinfo() frees both.
struct Answer {
  addrinfo info{};
  sockaddr_storage address{};
};

std::optional<std::uint16_t> port_of(const char* service) {
  std::uint16_t port = 0;
  if (service == nullptr) return port;
  const char* const end = service + std::strlen(service);
  const auto [stop, error] = std::from_chars(service, end, port);
  if (error != std::errc() || stop != end || stop == service) return std::nullopt;
  return port;
}

socklen_t fill(sockaddr_storage& to, const HostAddress& from, std::uint16_t port) {
  if (from.family == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr = from.v4;
    std::memcpy(&to, &address, sizeof address);
    return sizeof address;
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = from.v6;
  address.sin6_scope_id = from.scope;
  std::memcpy(&to, &address, sizeof address);
  return sizeof address;
}

std::vector<HostAddress> own_addresses(int flags, int family) {
  HostAddress v4, v6;
  v6.family = AF_INET6;
  const bool is_passive = (flags & AI_PASSIVE) != 0;
  v4.v4.s_addr = htonl(is_passive ? INADDR_ANY : INADDR_LOOPBACK);
  v6.v6 = is_passive ? in6addr_any : in6addr_loopback;
  if (family == AF_INET) return {v4};
  if (family == AF_INET6) return {v6};
  return is_passive ? std::vector{v4, v6} : std::vector{v6, v4};
}

Result<std::vector<HostAddress>> find(const char* node, const addrinfo& hints) {
  if (node == nullptr) return own_addresses(hints.ai_flags, hints.ai_family);
  holon::standalone::Sources sources;
  sources.patience = kPatience;
  if ((hints.ai_flags & AI_NUMERICHOST) == 0)
    return holon::standalone::addresses_of(sources, node, hints.ai_family);
  auto found = holon::standalone::numeric_address(node);
  if (!found.empty() && hints.ai_family != AF_UNSPEC && hints.ai_family != found[0].family)
    found.clear();
  return found;
}

Answer* answer_for(const HostAddress& address, std::uint16_t port, std::pair<int, int> kind) {
  auto* const answer = new Answer;
  answer->info.ai_family = address.family;
  answer->info.ai_socktype = kind.first;
  answer->info.ai_protocol = kind.second;
  answer->info.ai_addrlen = fill(answer->address, address, port);
  answer->info.ai_addr = reinterpret_cast<sockaddr*>(&answer->address);
  return answer;
}

bool copy_text(const std::string& text, char* to, socklen_t size) {
  if (to == nullptr || size == 0) return true;
  if (text.size() + 1 > size) return false;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return true;
}

}  // namespace

extern "C" {

int getaddrinfo(const char* node, const char* service, const addrinfo* asked, addrinfo** result) {
  const addrinfo none{};
  const addrinfo& hints = asked != nullptr ? *asked : none;
  if (node == nullptr && service == nullptr) return EAI_NONAME;
  if (hints.ai_family != AF_UNSPEC && hints.ai_family != AF_INET && hints.ai_family != AF_INET6)
    return EAI_FAMILY;
  const auto port = port_of(service);
  if (!port) return EAI_SERVICE;
  const auto found = find(node, hints);
  if (!found) return EAI_AGAIN;
  addrinfo* first = nullptr;
  addrinfo** next = &first;
  for (const auto& address : *found)
    for (const auto& kind : kKinds) {
      if (hints.ai_socktype != 0 && hints.ai_socktype != kind.first) continue;
      *next = &answer_for(address, *port, kind)->info;
      next = &(*next)->ai_next;
    }
  if (first == nullptr) return EAI_NONAME;
  if ((hints.ai_flags & AI_CANONNAME) != 0) first->ai_canonname = strdup(node ? node : "");
  *result = first;
  return 0;
}

void freeaddrinfo(addrinfo* first) {
  while (first != nullptr) {
    addrinfo* const next = first->ai_next;
    std::free(first->ai_canonname);
    delete reinterpret_cast<Answer*>(first);  // its first member
    first = next;
  }
}

// Numbers only, which is what is asked of it here; names of other machines are told by nobody.
int getnameinfo(const sockaddr* address, socklen_t size, char* host, socklen_t host_size,
                char* service, socklen_t service_size, int flags) {
  if ((flags & NI_NAMEREQD) != 0) return EAI_NONAME;
  char text[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE] = "";
  std::uint16_t port = 0;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    char link[IF_NAMESIZE] = "";
    if (v6.sin6_scope_id != 0 && if_indextoname(v6.sin6_scope_id, link) != nullptr)
      std::strcat(std::strcat(text, "%"), link);
    port = ntohs(v6.sin6_port);
  } else {
    return EAI_FAMILY;
  }
  const bool fits =
      copy_text(text, host, host_size) && copy_text(std::to_string(port), service, service_size);
  return fits ? 0 : EAI_OVERFLOW;
}

}  // extern "C"
