#include "sim/formats/json_text.hpp"

#include <nlohmann/json.hpp>

namespace holon::sim {

tl::expected<nlohmann::json, JsonFault> parse_json_text(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return tl::unexpected(
        JsonFault{words_of_json_error(error.what()), place_of_json_error(error.byte)});
  } catch (const nlohmann::json::exception& error) {  // a number beyond every type
    return tl::unexpected(JsonFault{words_of_json_error(error.what()), 0});
  }
}

}  // namespace holon::sim
