// vouch.hpp - an agent's word on who a client on its node is, in an instance that serves several
// users.
//
// The kernel of that node tells the agent whose the other end of a connection to its socket is. For
// each such client the agent makes a connection to the broker, with a key that nobody knows, and
// names the client in its first request. Before the answer the connection may ask nothing else: if
// that request is lost, it is a stranger's connection, without an agent's rights.
#pragma once
#include <cstdint>
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::launch::msg {

// "agent.vouch"
struct VouchRequest {
  std::uint32_t rank = 0;
  std::string secret;  // as in Hello: that of the agent of that rank
  std::uint32_t uid = 0, gid = 0;
  HOLON_FIELDS(rank, secret, uid, gid)
};

}  // namespace holon::launch::msg
