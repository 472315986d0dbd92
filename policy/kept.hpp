// kept.hpp - a table of Lua as text, and so in a journal: what a policy keeps in `state`.
//
// The text is Lua's own, in ASCII, with the keys in order: the same table gives the same bytes.
// Private to policy/.
#pragma once
#include <cstddef>
#include <string>

#include "base/result.hpp"

struct lua_State;

namespace holon::policy {

inline constexpr std::size_t kMostKept = 64u << 10;  // bytes of text
inline constexpr int kDeepestKept = 16;              // tables in tables

// The text of the table on top of the stack: numbers, texts, true, false and tables of these, by
// keys that are numbers, texts, true or false; "{}": an empty one. Raises no error of Lua's.
// Errors: invalid_argument with the key (something else, too deep, too much). O(kMostKept).
Result<std::string> kept_text(lua_State* lua);

}  // namespace holon::policy
