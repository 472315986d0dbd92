// find_instance.hpp - which instance a command talks to when it was not told.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

struct RunningInstance {
  std::string uri;
  std::string name;
};

// The user's root instances on this machine whose broker listens. Reads the runtime directories.
std::vector<RunningInstance> running_roots();

// $HOLON_URI, else the only running root instance. Errors: disconnected with what to do about it.
Result<std::string> find_instance();

}  // namespace holon::cli
