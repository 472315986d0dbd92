// json_text.hpp - values of a JSON text, and where in it a fault is.
#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::sim {

// The place of a byte in a text, both from 1.
struct TextPlace {
  std::size_t line = 1, column = 1;
};
TextPlace place_in(std::string_view text, std::size_t at);
std::string text_of(const TextPlace& place);  // "line 3, column 7"

// The fault in a text that should be one JSON value, and its byte.
struct JsonFault {
  std::string what;  // "not JSON: syntax error ..."
  std::size_t at = 0;
};
tl::expected<nlohmann::json, JsonFault> parse_json_text(std::string_view text);

}  // namespace holon::sim
