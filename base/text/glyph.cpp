#include "base/text/glyph.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

namespace holon {
namespace {

constexpr Glyph kBroken{1, 1, false};

// Bytes of a character that begins with `first`; 0: none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// The widths are those of the C library's Unicode tables, whatever locale the process is in.
int columns_of(wchar_t c) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return 1;
  const locale_t before = uselocale(unicode);
  const int width = wcwidth(c);
  uselocale(before);
  return width;
}

// C1 controls, separators of lines, and marks that turn the direction of what follows.
bool is_command(char32_t c) {
  return (c >= 0x80 && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

Glyph first_glyph(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, 1, first >= 0x20 && first != 0x7F};
  const std::size_t length = length_of(first);
  if (length == 0 || length > text.size()) return kBroken;
  char32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return kBroken;
    code = code << 6 | (next & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return kBroken;
  if (is_command(code)) return {length, 1, false};
  const int width = columns_of(static_cast<wchar_t>(code));
  return {length, width < 0 ? 1 : static_cast<std::size_t>(width), true};
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace holon
