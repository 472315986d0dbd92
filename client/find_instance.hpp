// find_instance.hpp - which instance a program talks to when it was not told.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::client {

struct RunningInstance {
  std::string uri;
  std::string name;
  std::string state_dir;
  bool listens = true;      // false: its broker is being started again
  bool is_machine = false;  // gives out this machine's cores, and not declared ones
};

// The user's root instances on this machine that have a broker or a supervisor. Reads the runtime
// directories.
std::vector<RunningInstance> running_roots();

// Describes an instance in one line, for a person who has to choose.
using Describe = std::function<std::string(const RunningInstance&)>;
// The instance's name and the place of its state.
std::string describe_briefly(const RunningInstance& instance);

// $HOLON_URI, else the only running root instance. Errors: disconnected with what to do about it.
Result<std::string> find_instance(const Describe& describe = describe_briefly);

// Is there a supervisor that starts a broker at this address again, should it be gone? True also if
// the runtime directory was removed, which the supervisor makes again.
bool may_come_back(const std::string& uri);

}  // namespace holon::client
