// glyph.hpp - UTF-8 text, character by character, as a terminal shows it.
#pragma once
#include <cstddef>
#include <string_view>

namespace holon {

struct Glyph {
  std::size_t bytes = 1;
  std::size_t width = 1;     // columns: 2 for a CJK character or an emoji, 0 for a combining mark
  bool is_printable = true;  // false: commands the terminal, breaks the line, or is not UTF-8
};

// The first character. REQUIRES: `text` is not empty.
Glyph first_glyph(std::string_view text);

// Is all of the text printable ASCII, as nearly all is? Then each byte is a column.
bool is_plain(std::string_view text);

}  // namespace holon
