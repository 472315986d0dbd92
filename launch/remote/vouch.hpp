// vouch.hpp - an agent's word on who a client on its node is, in an instance that serves several
// users.
//
// The kernel of that node tells the agent whose the other end of a connection to its socket is. For
// each such client the agent makes a connection to the broker, with a key that nobody knows, and
// says in its first request for whom it is. Before that is answered the connection may ask nothing
// else: a word that is lost leaves a stranger, and not an agent's rights.
#pragma once
#include <cstdint>
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::launch::msg {

// "agent.vouch"
struct VouchRequest {
  std::uint32_t rank = 0;
  std::string secret;  // of Hello: the agent's of that rank
  std::uint32_t uid = 0, gid = 0;
  HOLON_FIELDS(rank, secret, uid, gid)
};

}  // namespace holon::launch::msg
