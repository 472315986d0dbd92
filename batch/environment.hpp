// environment.hpp - what a process can see of the batch system around it: variables, and the files
// that they name.
//
// A value handed to everything in this folder, so that a test can hand in what another site's batch
// system sets.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::batch {

struct Environment {
  std::map<std::string, std::string, std::less<>> variables;
  std::function<Result<std::string>(const std::string& path)> read_file;
  // What gethostname(2) says. Looked at only where the batch system does not name this node.
  std::string host_name;

  // Empty: not set, or set to nothing.
  std::string at(std::string_view name) const;
  bool has(std::string_view name) const { return !at(name).empty(); }
};

// Of this process.
Environment current_environment();

}  // namespace holon::batch
