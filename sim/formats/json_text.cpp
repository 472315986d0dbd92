#include "sim/formats/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/core.h>

namespace holon::sim {

namespace {

// nlohmann's words without "[json.exception...] parse error at line 1, column 2: " in front: its
// lines are those of the part it was given.
std::string words_of(std::string_view what) {
  if (const auto at = what.find("syntax error"); at != std::string_view::npos)
    return std::string(what.substr(at));
  if (const auto at = what.find("] "); at != std::string_view::npos) what.remove_prefix(at + 2);
  return std::string(what);
}

}  // namespace

TextPlace place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto newline = before.rfind('\n');
  return {static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          newline == std::string_view::npos ? before.size() + 1 : before.size() - newline};
}

std::string text_of(const TextPlace& place) {
  return fmt::format("line {}, column {}", place.line, place.column);
}

tl::expected<nlohmann::json, JsonFault> parse_json_text(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return tl::unexpected(
        JsonFault{"not JSON: " + words_of(error.what()), error.byte == 0 ? 0 : error.byte - 1});
  } catch (const nlohmann::json::exception& error) {  // a number beyond every type
    return tl::unexpected(JsonFault{"not JSON: " + words_of(error.what()), 0});
  }
}

}  // namespace holon::sim
