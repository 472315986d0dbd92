// base64.hpp - bytes as text (RFC 4648, section 4).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace holon::resource {

std::string to_base64(std::string_view bytes);
// The bytes; nullopt: the text is not base64, padded to whole groups of four.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace holon::resource
