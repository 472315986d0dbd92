// table.hpp - rows in aligned columns, no wider than the terminal.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/printable.hpp"
#include "cli/io.hpp"

namespace holon::cli {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  struct Cell {
    std::string text;
    Colour colour = Colour::plain;
  };

  explicit Table(std::vector<Column> columns);
  // REQUIRES: as many cells as columns.
  void add(std::vector<Cell> row);

  // The title line and the rows. Columns are as wide as their widest cell; the last one has what is
  // left of io.width: what is longer goes on in a second line, and is cut there. A column in which
  // every cell is empty is left out.
  std::string render(const Io& io) const;
  // Renders a table whose rows come piece by piece: the rows since the last call, which are
  // forgotten; titles before the first ones. A column only gets wider. If there are `more`, the
  // first piece cannot tell which columns stay empty, and all are shown.
  std::string render_next(const Io& io, bool more);

 private:
  struct Layout {
    std::vector<std::size_t> shown;  // columns
    std::vector<std::size_t> widths;
  };
  Layout layout(bool all) const;
  std::string lines(const Io& io, const Layout& layout, bool titles) const;

  std::optional<Layout> begun_;  // of render_next()
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Columns that `text`, which is UTF-8, takes on a terminal: two for a CJK character or an emoji,
// none for a combining mark.
std::size_t display_width(std::string_view text);

// Is `a` before `b` in a list for people? Numbers in names count as numbers: core2 before core10.
bool natural_before(std::string_view a, std::string_view b);

// `text` cut to `width` columns, with an ellipsis where something was cut off.
std::string shorten(const Io& io, std::string_view text, std::size_t width);

}  // namespace holon::cli
