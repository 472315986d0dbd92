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
  // The name by gethostname(2), used only if the batch system does not name this node.
  std::string host_name;

  // The variable; empty: not set, or set to nothing.
  std::string at(std::string_view name) const;
  bool has(std::string_view name) const { return !at(name).empty(); }
};

// The environment of this process.
Environment current_environment();

}  // namespace holon::batch
