// child_place.hpp - what a parent tells each process that it starts for a child instance of several
// agents: the first one becomes the child's supervisor, the others its agents. It travels with the
// child's token in a descriptor (launch::take_secrets).
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

struct ChildPlace {
  std::size_t index = 0;           // which of the processes it is
  std::vector<std::string> hosts;  // what their nodes are called, by index; empty: it is alone
  bool is_one_machine = true;      // all of them are on one, whatever its nodes are called

  bool operator==(const ChildPlace&) const = default;
};

// Nothing for one that is alone.
std::map<std::string, std::string> secrets_of(const ChildPlace& place);
// Errors: invalid_argument.
Result<ChildPlace> parse_child_place(const std::map<std::string, std::string>& secrets);

}  // namespace holon::instance
