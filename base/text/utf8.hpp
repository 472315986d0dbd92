// utf8.hpp - is this text, or bytes?
#pragma once
#include <string_view>

namespace holon {

// UTF-8 as Unicode defines it: no surrogates, nothing overlong, nothing above U+10FFFF. O(length).
bool is_utf8(std::string_view text);

}  // namespace holon
