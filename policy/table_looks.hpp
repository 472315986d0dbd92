// table_looks.hpp - which lines of a text look into tables by keys that are no plain name, in an
// instruction that takes as long as the keys that fall together with the one that is looked for are
// many. Private to policy/.
//
// Where a key of a table lies follows from the key alone, unless it is a text: a policy can choose
// numbers that all fall together. So the lines that look are charged each time they are entered, or
// looped in, for the largest table that there is.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace holon::policy {

// Looks for the length of a table: the end of one without a list is searched by steps that double.
inline constexpr std::int64_t kLooksForLength = 4;

// Looks of each line of a text, the first at 0, from the output of lua_dump() (format of Lua 5.4);
// the length of a table is several. Empty: it is no such output. O(length).
std::vector<std::int64_t> table_looks(std::string_view dumped);

}  // namespace holon::policy
