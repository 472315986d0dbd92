// tcp_connection.hpp - a plain connection over tcp, for what comes before a client has keys.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/unique_fd.hpp"

namespace holon::transport {

// Connects to a host (a name or an IPv4 address) and port, within `patience` ms; the name is looked
// up first, as long as that takes. The socket does not block. Errors: not_found (no such host),
// disconnected (nobody listens there), timed_out, system (no way leads there, and others).
Result<UniqueFd> connect_tcp(const std::string& host, std::uint16_t port, Duration patience);

// Does the machine at this tcp://HOST:PORT say that nobody listens there? One that does not answer
// within `patience` ms, or cannot be reached, says nothing.
bool is_nobody_there(const std::string& uri, Duration patience);

}  // namespace holon::transport
