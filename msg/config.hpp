// config.hpp - what clients ask about an instance's configuration. Conventions as in instance.hpp;
// docs/protocol.md is the description for others.
#pragma once
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

struct ConfigValue {
  std::string key, value;
  std::string source;  // "FILE:LINE", "--conf", "default", "holon policy": set while it runs
  HOLON_FIELDS(key, value, source)
};

// "config.get"
struct ConfigRequest {
  std::string key;  // this one, or all of a table ("job"); "": all
  HOLON_FIELDS(key)
};
struct ConfigReply {
  std::vector<ConfigValue> values;  // by key
  HOLON_FIELDS(values)
};

// "config.reload": the files that --conf named are read again; all that has changed in them comes
// into force, or nothing does.
struct ConfigChange {
  std::string key, before, after;  // "": it is not set
  HOLON_FIELDS(key, before, after)
};
struct ReloadReply {
  std::vector<ConfigChange> changes;
  HOLON_FIELDS(changes)
};

}  // namespace holon::msg
