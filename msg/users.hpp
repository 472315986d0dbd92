// users.hpp - what the users of an instance that serves several ask of it.
#pragma once
#include <string>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "user.instance": which instance is the asker's own, where each user has one.
struct OwnInstanceRequest {
  bool make = false;  // where there is none, or it has ended
  HOLON_FIELDS(make)
};
// Of "make" answered when it can be asked. Errors: busy (it waits for resources, the reason is
// said), unsatisfiable (there never are as many), and why it ended before it was up.
struct OwnInstanceReply {
  // "/3", also of the last one that has ended; "": the asker has none, or is asked for what the
  // whole instance has (its operators).
  std::string path;
  HOLON_FIELDS(path)
};

}  // namespace holon::msg
