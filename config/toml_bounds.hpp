// toml_bounds.hpp - bounds of a TOML text, checked before it is read: toml++ makes a table of each
// part of a key, and reading, walking and freeing nested tables takes a stack frame each.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::config {

inline constexpr int kMostKeyParts = 32;     // of a.b.c
inline constexpr int kMostTomlNesting = 64;  // lists and inline tables in each other
inline constexpr std::size_t kLargestToml = std::size_t{16} << 20;  // bytes

// Checks the bounds. Errors: invalid_argument, with the place.
Status check_toml(std::string_view text, const std::string& file);

}  // namespace holon::config
