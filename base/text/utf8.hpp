// utf8.hpp - is a text UTF-8, and where do its characters end?
#pragma once
#include <cstddef>
#include <string_view>

namespace holon {

struct Character {
  std::size_t bytes = 0;  // 0: the text does not begin with a character in UTF-8
  char32_t code = 0;
};

// UTF-8 as Unicode defines it: no surrogates, nothing overlong, nothing above U+10FFFF.
// REQUIRES: `text` is not empty.
Character first_character(std::string_view text);

// Is the text all such characters? O(length).
bool is_utf8(std::string_view text);

// The longest beginning of at most `most` bytes that ends with a whole character.
std::string_view cut_within(std::string_view text, std::size_t most);

}  // namespace holon
