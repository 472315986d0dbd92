#include "cli/show/table.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text/glyph.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastLastColumn = 10;  // narrower than this helps nobody: let it run over
constexpr std::size_t kReadable = 30;         // columns in which a sentence can be read

void add_padded(std::string& line, std::string_view text, std::size_t columns, std::size_t width,
                Table::Align align) {
  const std::size_t fill = width > columns ? width - columns : 0;
  if (align == Table::Align::right) line.append(fill, ' ');
  line += text;
  if (align != Table::Align::right) line.append(fill, ' ');
}

// The number of bytes of `text` that take at most `width` columns.
std::size_t bytes_within(std::string_view text, std::size_t width) {
  if (is_plain(text)) return std::min(text.size(), width);
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Glyph glyph = first_glyph(text.substr(bytes));
    if (glyph.width > width) break;
    width -= glyph.width;
    bytes += glyph.bytes;
  }
  return bytes;
}

// The end of a line of `width` columns: behind a word, if there is one.
std::size_t line_end(std::string_view text, std::size_t width) {
  const std::size_t most = bytes_within(text, width);
  if (most == text.size() || text[most] == ' ') return most;
  const auto blank = text.rfind(' ', most);
  return blank == std::string_view::npos || blank == 0 ? most : blank;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (is_plain(text)) return text.size();
  std::size_t width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    width += glyph.width;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

std::string shorten(const Io& io, std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::string mark = io.unicode ? "…" : "...";
  const std::size_t room = width > display_width(mark) ? width - display_width(mark) : 0;
  return std::string(text.substr(0, bytes_within(text, room))) + mark;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> row) {
  HOLON_CHECK(row.size() == columns_.size());
  for (Cell& cell : row)
    if (!is_plain(cell.text)) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

Table::Layout Table::layout(bool all) const {
  Layout layout{{}, std::vector<std::size_t>(columns_.size(), 0)};
  auto& [shown, widths] = layout;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) widths[c] = std::max(widths[c], display_width(row[c].text));
    if (widths[c] == 0 && !rows_.empty() && !all) continue;
    widths[c] = std::max(widths[c], display_width(columns_[c].title));
    shown.push_back(c);
  }
  return layout;
}

std::string Table::render(const Io& io) const {
  return lines(io, layout(false), true);
}

std::string Table::render_next(const Io& io, bool more) {
  Layout next = layout(more);
  const bool first = !begun_;
  if (begun_) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      next.widths[c] = std::max(next.widths[c], begun_->widths[c]);
    next.shown = std::move(begun_->shown);
  }
  std::string text = lines(io, next, first);
  begun_ = std::move(next);
  rows_.clear();
  return text;
}

std::string Table::lines(const Io& io, const Layout& layout, bool titles) const {
  const auto& [shown, widths] = layout;
  std::size_t before_last = 0;
  for (std::size_t i = 0; i + 1 < shown.size(); ++i) before_last += widths[shown[i]] + kGap;
  const std::size_t columns = io.width > 0 ? static_cast<std::size_t>(io.width) : SIZE_MAX;
  const std::size_t last_width =
      columns == SIZE_MAX
          ? SIZE_MAX
          : std::max(columns > before_last ? columns - before_last : 0, kLeastLastColumn);

  // Below a column as narrow as this there is more room than beside it.
  const bool beside = last_width >= kReadable;
  const std::size_t indent = beside ? before_last : std::min(before_last, kGap * 2);
  const auto line_of = [&, &shown = shown, &widths = widths](auto&& cell_at) {
    std::string line, rest;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::size_t c = shown[i];
      const bool last = i + 1 == shown.size();
      const Cell& cell = cell_at(c);
      std::string_view text = cell.text;
      std::size_t width = display_width(text);
      if (last && width > last_width) {
        const std::size_t end = line_end(text, last_width);
        const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
        const std::string more =
            shorten(io, text.substr(next), std::max(columns - indent, kLeastLastColumn));
        rest = std::string(indent, ' ') + paint(io, cell.colour, more) + "\n";
        text = text.substr(0, end);
        width = display_width(text);
      }
      const bool plain = !io.colour || cell.colour == Colour::plain;
      add_padded(line, plain ? text : paint(io, cell.colour, text), width, widths[c],
                 columns_[c].align);
      if (!last) line.append(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n" + rest;
  };
  std::string text;
  if (titles) text = line_of([&](std::size_t c) { return Cell{columns_[c].title, Colour::bold}; });
  for (const auto& row : rows_)
    text += line_of([&](std::size_t c) -> const Cell& { return row[c]; });
  return text;
}

bool natural_before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) {
    return std::min(text.find_first_not_of("0123456789"), text.size());
  };
  while (!a.empty() && !b.empty()) {
    const std::size_t in_a = digits(a), in_b = digits(b);
    if (in_a > 0 && in_b > 0) {
      if (in_a != in_b) return in_a < in_b;
      if (a.substr(0, in_a) != b.substr(0, in_b)) return a.substr(0, in_a) < b.substr(0, in_b);
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    }
    a.remove_prefix(std::max<std::size_t>(in_a, 1));
    b.remove_prefix(std::max<std::size_t>(in_b, 1));
  }
  return a.empty() && !b.empty();
}

}  // namespace holon::cli
