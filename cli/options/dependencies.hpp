// dependencies.hpp - the value of --dependency: "afterok:7", "afterok:3:5,afterany:7", "singleton".
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

// Adds one element for each job that a value names: "afterok:3:5,singleton" is afterok:3, afterok:5
// and singleton. check_dependency() checks the elements.
std::function<Status(const std::string&)> dependencies_reader(std::vector<std::string>& into);

// Checks one element. Errors: invalid_argument with "--dependency ELEMENT" as its place.
Status check_dependency(const std::string& word);

}  // namespace holon::cli
