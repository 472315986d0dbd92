// similar.hpp - which word was meant, for "did you mean".
#pragma once
#include <cstddef>
#include <string_view>

namespace holon {

// Levenshtein's distance: the least number of insertions, deletions and replacements of bytes that
// turn `a` into `b`. O(|a| * |b|) time, O(|b|) memory.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace holon
