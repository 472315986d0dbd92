#include "standalone/hosts.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace holon::standalone {
namespace {

constexpr std::size_t kMostOfHosts = std::size_t{64} << 20;

// The index of a link by its name or number; 0: there is none.
std::uint32_t scope_of(const std::string& link) {
  std::uint32_t number = 0;
  const char* const end = link.data() + link.size();
  const auto [stop, error] = std::from_chars(link.data(), end, number);
  return error == std::errc() && stop == end ? number : if_nametoindex(link.c_str());
}

void add_if(std::vector<HostAddress>& to, const std::string& number, int family) {
  for (const auto& address : numeric_address(number)) {
    const auto is_same = [&](const HostAddress& other) {
      return other.family == address.family && other.v4.s_addr == address.v4.s_addr &&
             IN6_ARE_ADDR_EQUAL(&other.v6, &address.v6);
    };
    if ((family == AF_UNSPEC || family == address.family) &&
        std::none_of(to.begin(), to.end(), is_same))
      to.push_back(address);
  }
}

// Names of hosts have no case.
bool is_named(std::istringstream& names, const std::string& host) {
  for (std::string name; names >> name;)
    if (strcasecmp(name.c_str(), host.c_str()) == 0) return true;
  return false;
}

Result<std::vector<HostAddress>> addresses_in_file(const Sources& sources, const std::string& host,
                                                   int family) {
  std::vector<HostAddress> found;
  const auto text = text_of_file(sources, "hosts", kMostOfHosts);
  if (!text) return tl::unexpected(text.error());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    std::string number;
    if (words >> number && is_named(words, host)) add_if(found, number, family);
  }
  return found;
}

const char* database_of(int family) {
  if (family == AF_INET) return "ahostsv4";
  return family == AF_INET6 ? "ahostsv6" : "ahosts";
}

}  // namespace

std::vector<HostAddress> numeric_address(const std::string& text) {
  HostAddress address;
  if (inet_aton(text.c_str(), &address.v4) != 0) return {address};
  const auto percent = text.find('%');
  address.family = AF_INET6;
  if (inet_pton(AF_INET6, text.substr(0, percent).c_str(), &address.v6) != 1) return {};
  if (percent == std::string::npos) return {address};
  address.scope = scope_of(text.substr(percent + 1));
  return address.scope == 0 ? std::vector<HostAddress>() : std::vector<HostAddress>{address};
}

Result<std::vector<HostAddress>> addresses_of(const Sources& sources, const std::string& host,
                                              int family) {
  std::vector<HostAddress> numbers;
  if (!numeric_address(host).empty()) {
    add_if(numbers, host, family);
    return numbers;
  }
  auto found = addresses_in_file(sources, host, family);
  if (!found || !found->empty()) return found;
  // A line is "ADDRESS STREAM NAME", and the same for other kinds of sockets.
  const auto answer = ask_getent(sources, database_of(family), host);
  const bool is_localhost = strcasecmp(host.c_str(), "localhost") == 0;
  if (!answer && !is_localhost) return tl::unexpected(answer.error());
  std::istringstream lines(answer ? answer->value_or("") : "");
  for (std::string line; std::getline(lines, line);)
    add_if(*found, line.substr(0, line.find_first_of(" \t")), family);
  // This name needs no file and no server (RFC 6761).
  if (found->empty() && is_localhost)
    for (const char* const number : {"::1", "127.0.0.1"}) add_if(*found, number, family);
  return found;
}

}  // namespace holon::standalone
