// place.hpp - asks an instance for this node's place in it.
#pragma once
#include <string>

#include "base/time.hpp"
#include "launch/messages.hpp"
#include "launch/remote/invitation.hpp"

namespace holon::launch {

struct AgentPlace {
  std::string address;  // the one at which the instance answered
  msg::JoinReply is;
};

// Tries the addresses one after the other, each at least once, and again and again for `patience`
// ms in all, unless the machines say that nobody listens there any more. Errors: disconnected (none
// answered), not_found (the instance has ended), denied and others of the instance.
Result<AgentPlace> ask_for_place(const Invitation& invitation, const msg::JoinRequest& ask,
                                 Duration patience);

}  // namespace holon::launch
