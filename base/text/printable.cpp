#include "base/text/printable.hpp"

#include <algorithm>

#include "base/text/glyph.hpp"

namespace holon {

// Names and commands may hold anything: a line feed would break a table, ESC would command the
// terminal.
std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    if (glyph.is_printable)
      safe += text.substr(0, glyph.bytes);
    else
      safe += '?';
    text.remove_prefix(glyph.bytes);
  }
  return safe;
}

std::string printable_lines(std::string_view text) {
  std::string safe;
  for (bool more = true; more;) {
    const auto end = std::min(text.find('\n'), text.size());
    safe += printable(text.substr(0, end));
    more = end < text.size();
    if (more) safe += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

}  // namespace holon
