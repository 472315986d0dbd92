// invited_nodes.hpp - what a running instance keeps of nodes that people add to it: their
// invitations, and the places that nodes have got with them. A value, and its text for the journal,
// which holds secrets as does the journal of an instance with children.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/curve/admission.hpp"

namespace holon::instance {

struct InvitedNodes {
  struct Invitation {
    std::uint64_t number = 0;  // ascending; no two have the same
    transport::KeyPair key;
    Time until = 0;          // wall clock
    std::uint64_t left = 0;  // nodes that may still come
    bool operator==(const Invitation&) const = default;
  };
  // Ranks of these nodes continue behind those of the hosts that the instance was started with.
  struct Node {
    std::string host;
    transport::KeyPair key;
    std::string secret;
    bool operator==(const Node&) const = default;
  };
  std::vector<Invitation> invitations;  // the last ones, with used and expired ones
  std::vector<Node> nodes;

  bool operator==(const InvitedNodes&) const = default;
};

std::string write_invited_nodes(const InvitedNodes& guests);
// Errors: invalid_argument.
Result<InvitedNodes> parse_invited_nodes(std::string_view text);

}  // namespace holon::instance
