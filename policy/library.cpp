// The globals. Tables are walked in an order that does not depend on where they lie in memory:
// numbers, then strings, then false and true.
#include "policy/library.hpp"

#include <algorithm>
#include <cmath>
#include <lua.hpp>
#include <string_view>
#include <vector>

#include "policy/sandbox.hpp"

namespace holon::policy {

namespace {

int check_that(lua_State* lua) {
  if (lua_toboolean(lua, 1)) return lua_gettop(lua);
  luaL_checkany(lua, 1);
  if (lua_gettop(lua) < 2) return luaL_error(lua, "assertion failed!");
  lua_settop(lua, 2);
  if (lua_type(lua, 2) == LUA_TSTRING) {
    luaL_where(lua, 1);
    lua_insert(lua, 2);
    lua_concat(lua, 2);
  }
  return ::lua_error(lua);
}

int lua_raise(lua_State* lua) {
  lua_settop(lua, 1);
  if (lua_type(lua, 1) == LUA_TSTRING) {
    luaL_where(lua, 1);
    lua_pushvalue(lua, 1);
    lua_concat(lua, 2);
  }
  return ::lua_error(lua);
}

// Charges for the number that a text at `index` becomes.
void charge_conversion(lua_State* lua, int index) {
  constexpr std::int64_t kSteps = 10;
  constexpr std::int64_t kBytesPerStep = 8;
  if (lua_type(lua, index) == LUA_TSTRING)
    Sandbox::of(lua).charge(
        lua, kSteps + static_cast<std::int64_t>(lua_rawlen(lua, index)) / kBytesPerStep);
}

// A key of a table: its place in the order, and its text or number.
struct SortedKey {
  int type = LUA_TNIL;
  bool whole = false;
  lua_Integer integer = 0;
  double number = 0;
  std::string_view text;

  bool operator<(const SortedKey& other) const {
    const auto place = [](const SortedKey& key) {
      return key.type == LUA_TNUMBER ? 0 : key.type == LUA_TSTRING ? 1 : 2;
    };
    if (place(*this) != place(other)) return place(*this) < place(other);
    if (type == LUA_TSTRING) return text < other.text;
    if (whole && other.whole) return integer < other.integer;
    return number < other.number;
  }
};

SortedKey key_at(lua_State* lua, int index) {
  SortedKey key;
  key.type = lua_type(lua, index);
  if (key.type == LUA_TNUMBER) {
    key.whole = lua_isinteger(lua, index) != 0;
    key.integer = lua_tointeger(lua, index);
    key.number = lua_tonumber(lua, index);
  } else if (key.type == LUA_TSTRING) {
    std::size_t length = 0;
    const char* const text = lua_tolstring(lua, index, &length);
    key.text = {text, length};
  } else if (key.type == LUA_TBOOLEAN) {
    key.number = lua_toboolean(lua, index);
  } else {
    luaL_error(lua, "a table with a %s as a key has no order to walk it in",
               luaL_typename(lua, index));
  }
  return key;
}

void push_key(lua_State* lua, const SortedKey& key) {
  if (key.type == LUA_TSTRING)
    lua_pushlstring(lua, key.text.data(), key.text.size());
  else if (key.type == LUA_TBOOLEAN)
    lua_pushboolean(lua, key.number != 0);
  else if (key.whole)
    lua_pushinteger(lua, key.integer);
  else
    lua_pushnumber(lua, key.number);
}

// The keys of the table at 1, sorted. Their texts live as long as the table is not changed.
std::vector<SortedKey> sorted_keys(lua_State* lua) {
  const std::int64_t steps_per_key = 10 * Sandbox::of(lua).weight() + Sandbox::of(lua).look_steps();
  std::vector<SortedKey> keys;
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    lua_pop(lua, 1);
    Sandbox::of(lua).charge(lua, steps_per_key);
    keys.push_back(key_at(lua, -1));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

constexpr std::int64_t kStepsPerTurn = 3;  // of a loop that asks a function for each value

// Upvalues: the keys, and how many were given.
int next_pair(lua_State* lua) {
  Sandbox::of(lua).charge(lua, kStepsPerTurn);
  lua_Integer i = lua_tointeger(lua, lua_upvalueindex(2));
  for (;;) {
    lua_settop(lua, 1);
    Sandbox::of(lua).charge(lua, Sandbox::of(lua).look_steps());
    lua_rawgeti(lua, lua_upvalueindex(1), ++i);
    if (lua_isnil(lua, -1)) return 1;
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, 1) != LUA_TNIL) break;  // one that was taken out meanwhile is passed over
  }
  lua_pushinteger(lua, i);
  lua_replace(lua, lua_upvalueindex(2));
  return 2;
}

int lua_pairs(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const std::vector<SortedKey> keys = sorted_keys(lua);
  lua_createtable(lua, static_cast<int>(keys.size()), 0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    push_key(lua, keys[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, &next_pair, 2);
  lua_pushvalue(lua, 1);
  return 2;
}

int lua_next_key(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  const std::vector<SortedKey> keys = sorted_keys(lua);
  auto at = keys.begin();
  if (!lua_isnil(lua, 2)) at = std::upper_bound(keys.begin(), keys.end(), key_at(lua, 2));
  if (at == keys.end()) {
    lua_pushnil(lua);
    return 1;
  }
  push_key(lua, *at);
  lua_pushvalue(lua, -1);
  lua_rawget(lua, 1);
  return 2;
}

int next_index(lua_State* lua) {
  Sandbox::of(lua).charge(lua, kStepsPerTurn + Sandbox::of(lua).look_steps());
  const lua_Integer i = check_integer(lua, 2) + 1;
  lua_pushinteger(lua, i);
  return lua_geti(lua, 1, i) == LUA_TNIL ? 1 : 2;
}

int lua_ipairs(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushcfunction(lua, &next_index);
  lua_pushvalue(lua, 1);
  lua_pushinteger(lua, 0);
  return 3;
}

int lua_select(lua_State* lua) {
  const int n = lua_gettop(lua);
  if (lua_type(lua, 1) == LUA_TSTRING && *lua_tostring(lua, 1) == '#') {
    lua_pushinteger(lua, n - 1);
    return 1;
  }
  lua_Integer from = check_integer(lua, 1);
  if (from < 0) from = n + from;
  luaL_argcheck(lua, from >= 1, 1, "index out of range");
  return from > n ? 0 : n - static_cast<int>(from);
}

int lua_to_number(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_isnoneornil(lua, 2)) {
    if (lua_type(lua, 1) == LUA_TNUMBER) {
      lua_settop(lua, 1);
      return 1;
    }
    charge_conversion(lua, 1);
    std::size_t length = 0;
    const char* const text = lua_tolstring(lua, 1, &length);
    if (text == nullptr || lua_stringtonumber(lua, text) != length + 1) lua_pushnil(lua);
    return 1;
  }
  return luaL_error(lua, "tonumber takes no base here");
}

int lua_to_text(lua_State* lua) {
  luaL_checkany(lua, 1);
  push_text(lua, 1);
  return 1;
}

int lua_type_of(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushstring(lua, luaL_typename(lua, 1));
  return 1;
}

}  // namespace

double check_number(lua_State* lua, int index) {
  charge_conversion(lua, index);
  return luaL_checknumber(lua, index);
}

long long check_integer(lua_State* lua, int index) {
  charge_conversion(lua, index);
  return luaL_checkinteger(lua, index);
}

long long opt_integer(lua_State* lua, int index, long long otherwise) {
  charge_conversion(lua, index);
  return luaL_optinteger(lua, index, otherwise);
}

void push_text(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      if (const double value = lua_tonumber(lua, index); std::isnan(value)) {
        lua_pushstring(lua, "nan");
        return;
      }
      Sandbox::of(lua).charge(lua, kStepsPerNumberText);
      lua_pushvalue(lua, index);
      lua_tostring(lua, -1);
      return;
    case LUA_TSTRING:
      lua_pushvalue(lua, index);
      return;
    case LUA_TBOOLEAN:
      lua_pushstring(lua, lua_toboolean(lua, index) ? "true" : "false");
      return;
    default:
      lua_pushstring(lua, luaL_typename(lua, index));
  }
}

int open_library(lua_State* lua) {
  constexpr luaL_Reg kGlobals[] = {{"assert", check_that},      {"error", lua_raise},
                                   {"ipairs", lua_ipairs},      {"next", lua_next_key},
                                   {"pairs", lua_pairs},        {"select", lua_select},
                                   {"tonumber", lua_to_number}, {"tostring", lua_to_text},
                                   {"type", lua_type_of},       {nullptr, nullptr}};
  lua_pushglobaltable(lua);
  luaL_setfuncs(lua, kGlobals, 0);
  lua_pop(lua, 1);
  open_math(lua);
  open_string(lua);
  open_table(lua);
  return 0;
}

}  // namespace holon::policy
