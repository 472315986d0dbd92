// line_costs.hpp - which lines of a text make texts of numbers, or numbers of texts, in an
// instruction of Lua that costs as much as fifty others. Private to policy/.
//
// Where the text of a number exists already, Lua allocates nothing for it, and a count of
// instructions does not tell `x .. ""` from an addition. So the lines where that is written are
// charged each time they are entered, or looped in.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace holon::policy {

// Steps for each entry into a line.
struct LineCost {
  // `..`: each operand of a chain that is no text in quotes may be a number. Lua joins a chain in
  // one instruction, on the line of one of its operators: where these stand on several lines, each
  // costs the whole chain.
  std::int64_t joins = 0;
  // `for NAME = ...`: limits that are texts become numbers, where the `do` stands; numbers, and
  // lengths such as #list, cost nothing. Counted for short texts: longer ones take longer.
  std::int64_t loops = 0;

  friend bool operator==(const LineCost&, const LineCost&) = default;
};

// The costs of the lines of the text, the first at 0. Empty: no line costs anything. O(length). If
// the text is not Lua, the result means nothing.
std::vector<LineCost> line_costs(std::string_view text);

}  // namespace holon::policy
