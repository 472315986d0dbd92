// json_text.hpp - values of a JSON text, or at which byte of it a fault is.
#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/text/text_place.hpp"

namespace holon::sim {

// The fault in a text that should be one JSON value, and its byte.
struct JsonFault {
  std::string what;  // "not JSON: syntax error ..."
  std::size_t at = 0;
};
tl::expected<nlohmann::json, JsonFault> parse_json_text(std::string_view text);

}  // namespace holon::sim
