// table.hpp - rows in aligned columns, no wider than the terminal.
#pragma once
#include <string>
#include <string_view>
#include <vector>

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

  // The title line and the rows. Columns are as wide as their widest cell, the last one is cut to
  // what is left of io.width. A column in which every cell is empty is left out.
  std::string render(const Io& io) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Columns that `text` takes on a terminal: code points of UTF-8, not bytes.
std::size_t display_width(std::string_view text);

// Is `a` before `b` in a list for people? Numbers in names count as numbers: core2 before core10.
bool natural_before(std::string_view a, std::string_view b);

// `text` with a question mark for each control character.
std::string printable(std::string_view text);

// `text` cut to `width` columns, with an ellipsis where something was cut off.
std::string shorten(const Io& io, std::string_view text, std::size_t width);

}  // namespace holon::cli
