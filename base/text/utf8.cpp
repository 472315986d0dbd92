#include "base/text/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace holon {
namespace {

// Nearly all text is ASCII: it is passed over eight bytes at a time.
std::size_t length_of_ascii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

bool goes_on(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!goes_on(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (is_overlong || is_surrogate || code > 0x10ffff) return {};
  return {length, code};
}

bool is_utf8(std::string_view text) {
  while (true) {
    text.remove_prefix(length_of_ascii(text));
    if (text.empty()) return true;
    const std::size_t length = first_character(text).bytes;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

std::string_view cut_within(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && goes_on(text[most])) --most;
  return text.substr(0, most);
}

}  // namespace holon
