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

// Steps for each entry into a line of the text, the first line at 0; 0 for most. Empty: for none.
//
// - `..`: each operand of a chain that is no text in quotes may be a number. Lua joins a chain in
// one instruction, on the
//   line of one of its operators: where these stand on several lines, each costs the whole chain.
// - `for NAME = ...`: limits that are texts become numbers, where the `do` stands. Numbers, and
//   lengths such as #list, are none.
//
// O(length). Of a text that is no Lua: something.
std::vector<std::int64_t> line_costs(std::string_view text);

}  // namespace holon::policy
