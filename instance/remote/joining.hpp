// joining.hpp - the broker's side of agents on other nodes: whose key is whose, and which place
// somebody with an invitation gets.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "instance/options.hpp"
#include "launch/messages.hpp"
#include "transport/principal.hpp"

namespace holon::instance {

// The name of the key of an invitation (transport::Principal).
inline constexpr const char* kJoiner = "join";

// Is the other end of this connection the agent of that rank, as far as its key says? Whoever shows
// no key, on this machine, has a secret to prove it by.
bool may_be_agent(const transport::Principal& who, std::uint32_t rank);
// Has it shown the key of any agent?
bool is_agent(const transport::Principal& who);

class Joining {
 public:
  Joining(const BrokerOptions& options, Duration orphan_timeout);

  // Whose public key it is: kJoiner, "agent 3", or "": nobody's.
  std::string name_of(const std::string& public_key) const;

  // The place of who asks. `is_connected`: does the agent of this rank work already? Errors:
  // not_found (no host of the instance), exists (somebody is there), denied.
  Result<launch::msg::JoinReply> place_for(
      const launch::msg::JoinRequest& ask,
      const std::function<bool(std::uint32_t rank)>& is_connected) const;

 private:
  Result<std::uint32_t> rank_of(const launch::msg::JoinRequest& ask) const;

  std::vector<std::string> hosts_;  // by rank
  BrokerOptions::Secrets secrets_;
  Duration orphan_timeout_;
};

}  // namespace holon::instance
