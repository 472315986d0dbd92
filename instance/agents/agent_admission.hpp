// agent_admission.hpp - the broker's side of agents on other nodes: which key is whose, and which
// place a node with an invitation gets.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "instance/agents/invited_nodes.hpp"
#include "instance/basics/options.hpp"
#include "launch/messages.hpp"
#include "transport/principal.hpp"

namespace holon::instance {

// The key name of the run's own invitation, which its launcher hands over (transport::Principal).
// Keys of people's invitations are named "join 0", "join 1", ...
inline constexpr const char* kJoiner = "join";
bool is_joiner(const transport::Principal& who);

// Is the other end of this connection the agent of that rank, as far as its key says? An agent
// on this machine shows no key: it has a secret to prove its rank by.
bool may_be_agent(const transport::Principal& who, std::uint32_t rank);
// Has the other end shown the key of any agent?
bool is_agent(const transport::Principal& who);
// The name of an agent, for itself and where it has said who a user of its node is.
std::string name_of_agent(std::uint32_t rank);
// Is the other end a user of another node, by the word of the agent of that rank?
bool is_vouched_by(const transport::Principal& who, std::uint32_t rank);

class AgentAdmission {
 public:
  AgentAdmission(const BrokerOptions& options, Duration orphan_timeout);

  // Restores what an earlier broker of this run kept. REQUIRES: no place was given yet.
  void restore(InvitedNodes guests);
  const InvitedNodes& guests() const { return invited_; }

  // The key of a new invitation, for `uses` nodes until a time by the wall clock; the nodes need
  // not be among those that the instance was started with. Errors: unsupported (libzmq).
  Result<transport::KeyPair> invite(Time until, std::uint64_t uses);

  // Makes a place for the agent of a host that comes while the instance runs, with a key and a
  // secret of its own: its rank, which is that of an earlier agent there if its place was given up.
  // Errors: exists (the host has a place), unsupported (libzmq).
  Result<std::uint32_t> make_place(const std::string& host);
  // Nobody can take this place, or show its key, any more. REQUIRES: make_place() has made it.
  void give_up_place(std::uint32_t rank);
  // The secret of the agent of this rank; "": its place was given up.
  const std::string& secret_of(std::uint32_t rank) const { return secrets_.agents.at(rank); }

  // The owner of the public key: kJoiner, "join 2", "agent 3"; "": the key is unknown.
  std::string name_of(const std::string& public_key) const;

  // The place of the node that asks. `is_connected`: is the agent of this rank connected? Errors:
  // not_found (no host of the instance), exists (the place is taken), denied.
  Result<launch::msg::JoinReply> place_for(
      const launch::msg::JoinRequest& ask,
      const std::function<bool(std::uint32_t rank)>& is_connected) const;
  // Likewise with an invitation of people, of which it takes one use; a new host becomes the last
  // of guests(). `wall`: now. Errors: as above; denied where the invitation is used up or expired.
  Result<launch::msg::JoinReply> place_for_invited(
      const transport::Principal& who, const launch::msg::JoinRequest& ask,
      const std::function<bool(std::uint32_t rank)>& is_connected, Time wall);

 private:
  Result<std::uint32_t> rank_of(const launch::msg::JoinRequest& ask) const;
  Result<InvitedNodes::Invitation*> invitation_of(const transport::Principal& who, Time wall);
  Status add_invited(const std::string& host);
  void put(std::size_t rank, transport::KeyPair key, std::string secret);
  void expect(const InvitedNodes::Node& node);

  std::vector<std::string> hosts_;  // by rank
  BrokerOptions::Secrets secrets_;
  InvitedNodes invited_;
  Duration orphan_timeout_;
};

}  // namespace holon::instance
