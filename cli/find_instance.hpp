// find_instance.hpp - which instance a command talks to when it was not told.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

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

// What can be said of it in one line: who, since when, what runs, where its state is. Asks it, and
// waits a second for the answer at most.
std::string describe(const RunningInstance& instance);

// $HOLON_URI, else the only running root instance. Errors: disconnected with what to do about it.
Result<std::string> find_instance();

// Is there a supervisor that starts a broker at this address again, should it be gone?
bool may_come_back(const std::string& uri);

}  // namespace holon::cli
