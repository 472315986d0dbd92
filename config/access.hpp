// access.hpp - the settings of an instance that serves several users (`holon start --system`).
#pragma once
#include <cstdint>
#include <string>

#include "base/time.hpp"

namespace holon::config {

struct AccessConfig {
  std::string users = "*";         // names; "*": everybody
  std::string operators;           // names
  std::uint64_t least_uid = 1000;  // accounts of the system have lower numbers
  bool no_new_privileges = true;   // setuid programs give tasks nothing
  // Users of other machines, which have the same MUNGE key, may connect over tcp at
  // instance.address and `port` (0: any that is free).
  bool munge = false;
  std::uint64_t port = 0;
  std::string munge_socket;  // of the daemon; "": where libmunge looks for it
};

// What each user's own instance gets, and how. All of it 0 and "": nobody gets one.
struct PerUserConfig {
  std::uint64_t cores = 0;
  std::uint64_t nodes = 0;  // whole ones
  double share = 0;         // of all cores
  std::string cores_of;     // "ann=8 bob=2": cores of these users, in place of the above
  std::uint64_t most = 0;  // cores that one of these instances may have (its grant.max); 0: its own
  std::string policy;      // queue.policy of these instances; "": the usual one
  Duration idle = 600'000;  // ms without a job after which one ends; 0: never
  Duration limit = 0;       // ms after which one ends; 0: none

  bool is_set() const { return cores > 0 || nodes > 0 || share > 0 || !cores_of.empty(); }
};

// The user's cores in `cores_of`; 0: the list does not name the user.
std::uint64_t cores_of_user(const std::string& cores_of, const std::string& user);

}  // namespace holon::config
