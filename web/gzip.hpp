// gzip.hpp - bytes as gzip has them (RFC 1952), for pages and answers.
#pragma once
#include <string>
#include <string_view>

namespace holon::web {

// `level`: 1 (quick) to 9 (small). The same bytes give the same bytes.
std::string to_gzip(std::string_view bytes, int level);
// "" for what is not gzip. REQUIRES: the bytes are this program's own, as their size is not
// bounded.
std::string from_gzip(std::string_view bytes);

}  // namespace holon::web
