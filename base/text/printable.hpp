// printable.hpp - text that others chose, made safe for a terminal.
#pragma once
#include <string>
#include <string_view>

namespace holon {

// `text` with a question mark for each control character and each byte that is not UTF-8.
std::string printable(std::string_view text);
// Like printable(), but line feeds stay.
std::string printable_lines(std::string_view text);

}  // namespace holon
