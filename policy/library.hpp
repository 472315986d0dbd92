// library.hpp - the functions that a sandbox has in place of Lua's own libraries: each takes steps
// from the budget for what it does. Private to policy/.
#pragma once
#include <cstdint>

struct lua_State;

namespace holon::policy {

// Functions for Lua: make the globals, and the tables math, string and table.
int open_library(lua_State* lua);
void open_math(lua_State* lua);
void open_string(lua_State* lua);
void open_table(lua_State* lua);

// Steps for making a text of a number: some 0.4 us.
inline constexpr std::int64_t kStepsPerNumberText = 40;

// Like luaL_checknumber and its kin; a text that becomes a number takes steps by its length.
double check_number(lua_State* lua, int index);
long long check_integer(lua_State* lua, int index);
long long opt_integer(lua_State* lua, int index, long long otherwise);

// Pushes what tostring() gives for the value at `index`: never an address.
void push_text(lua_State* lua, int index);

}  // namespace holon::policy
