// child_place.hpp - what a parent tells each process of a child instance of several agents: the
// first process becomes the child's supervisor, the others its agents. It travels with the child's
// token in a descriptor (launch::take_secrets).
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

struct ChildPlace {
  std::size_t index = 0;  // which of the child's processes this is
  // Names of their nodes, by index; empty: it is the only one, and stays so. Where `is_by_name`:
  // those of the child's own nodes, a hostlist, and of this one.
  std::vector<std::string> hosts;
  bool is_one_machine = true;  // all are on one machine, whatever the names
  // The child knows the node by its name only: it came while the child ran.
  bool is_by_name = false;

  bool operator==(const ChildPlace&) const = default;
};

// Empty where there are no hosts.
std::map<std::string, std::string> secrets_of(const ChildPlace& place);
// Errors: invalid_argument.
Result<ChildPlace> parse_child_place(const std::map<std::string, std::string>& secrets);

}  // namespace holon::instance
