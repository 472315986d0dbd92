// identity.hpp - who an instance is: its place in the tree, its folder, its end.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "instance/tree/ancestry.hpp"

namespace holon::instance {

// Who this instance is; fixed once it is up.
struct Identity {
  std::string path = "/";
  std::string name;
  std::string uri;
  std::string state_dir;
  std::vector<std::string> agent_secrets;  // by rank, of each agent that is expected
  std::vector<std::uint32_t> agents;       // ranks of those that stand for its nodes as it begins,
                                           // ascending
  std::vector<std::string> hosts;          // by rank, of an instance of several nodes; else empty
  std::string binary;                      // the holon program
  BelongsTo belongs_to = descends_from;
  bool bind = true;            // tasks are bound to the cores of their R
  bool serves_users = false;   // beside the one whose process this is
  bool spreads = false;        // agents but that of rank 0 are on other nodes
  bool is_one_machine = true;  // they are all on that of the broker, or pretend to be elsewhere
  Time started = 0;
  Time lease_end = kTimeMax;
};

}  // namespace holon::instance
