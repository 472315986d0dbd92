#include "base/text/text_place.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holon {

TextPlace place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto newline = before.rfind('\n');
  return {static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          newline == std::string_view::npos ? before.size() + 1 : before.size() - newline};
}

std::string text_of(const TextPlace& place) {
  return fmt::format("line {}, column {}", place.line, place.column);
}

std::string words_of_json_error(std::string_view what) {
  if (const auto at = what.find("syntax error"); at != std::string_view::npos)
    what.remove_prefix(at);
  else if (const auto bracket = what.find("] "); bracket != std::string_view::npos)
    what.remove_prefix(bracket + 2);
  return "not JSON: " + std::string(what);
}

}  // namespace holon
