// users.hpp - what the users of an instance that serves several ask of it.
#pragma once
#include <cstdint>
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "user.instance": which instance is the asker's own, where each user has one.
struct OwnInstanceRequest {
  bool make = false;          // where there is none, or it has ended
  std::int64_t patience = 0;  // ms until "busy" where it is not up yet, at most a minute; 0: 15 s
  HOLON_FIELDS(make, patience)
};
// With "make" the answer comes when the instance can be asked. Errors: busy (it waits for
// resources, the reason is said), unsatisfiable (there never are as many), and why it ended before.
struct OwnInstanceReply {
  // "/3", also of the last one that has ended; "": the asker has none, or is asked for what the
  // whole instance has (its operators).
  std::string path;
  bool serves_users = false;  // submissions may name another user than the owner
  HOLON_FIELDS(path, serves_users)
};

}  // namespace holon::msg
