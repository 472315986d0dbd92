// identity.hpp - the identity of an instance: its place in the tree, its folder, its end.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "instance/tree/ancestry.hpp"

namespace holon::instance {

// The identity of this instance; fixed once it is up.
struct Identity {
  std::string path = "/";
  std::string name;
  std::string uri;
  std::string state_dir;
  std::vector<std::string> agent_secrets;  // by rank, of each expected agent
  std::vector<std::uint32_t> agents;       // ranks of those that stand for its nodes as it begins,
                                           // ascending
  std::vector<std::uint32_t> granted;      // ranks of nodes that came while an earlier broker ran
  std::vector<std::string> hosts;          // by rank; empty for an instance of one node
  std::string binary;                      // the holon program
  BelongsTo belongs_to = descends_from;
  bool bind = true;            // tasks are bound to the cores of their R
  bool serves_users = false;   // other users, too, beside its owner
  bool spreads = false;        // agents other than rank 0 are on other nodes
  bool is_one_machine = true;  // all agents are on the broker's machine, or pretend to be elsewhere
  Time started = 0;
  Time lease_end = kTimeMax;
  Duration patience = -1;  // how long the instance above waits for its orderly end; negative: not
                           // known
};

}  // namespace holon::instance
