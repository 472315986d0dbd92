#include "base/text/glyph.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "base/text/utf8.hpp"

namespace holon {
namespace {

// The widths are those of the C library's Unicode tables, whatever locale the process is in.
int columns_of(wchar_t c) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return 1;
  const locale_t before = uselocale(unicode);
  const int width = wcwidth(c);
  uselocale(before);
  return width;
}

// Is it a C1 control, a separator of lines, or a mark that turns the direction of what follows?
bool is_command(char32_t c) {
  return (c >= 0x80 && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

Glyph first_glyph(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, 1, first >= 0x20 && first != 0x7F};
  const auto [bytes, code] = first_character(text);
  if (bytes == 0) return {1, 1, false};
  if (is_command(code)) return {bytes, 1, false};
  const int width = columns_of(static_cast<wchar_t>(code));
  return {bytes, width < 0 ? 1 : static_cast<std::size_t>(width), true};
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace holon
