// hosts.hpp - addresses of a host as getaddrinfo(3) finds them, without modules of the C library:
// numbers are taken as they are, then /etc/hosts, then getent (DNS and whatever else nsswitch.conf
// names).
#pragma once
#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "standalone/getent.hpp"

namespace holon::standalone {

// An address without a port; `family`: AF_INET or AF_INET6.
struct HostAddress {
  int family = AF_INET;
  in_addr v4{};
  in6_addr v6{};
  std::uint32_t scope = 0;  // of an IPv6 address of one link
};

// The address that the text itself is; none: it is a name.
std::vector<HostAddress> numeric_address(const std::string& text);

// The addresses of `host`, those that are tried first in front. `family`: AF_INET, AF_INET6 or
// AF_UNSPEC for both. None: there is no such host. Errors: it could not be asked (GetentAnswer), or
// /etc/hosts could not be read.
Result<std::vector<HostAddress>> addresses_of(const Sources& sources, const std::string& host,
                                              int family);

}  // namespace holon::standalone
