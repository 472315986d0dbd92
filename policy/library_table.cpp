// table: as Lua's own. Sorting is a merge sort, which ends after n log n comparisons whatever the
// function that compares says.
#include <lua.hpp>
#include <string>
#include <vector>

#include "policy/library.hpp"
#include "policy/sandbox.hpp"
#include "policy/table_looks.hpp"

namespace holon::policy {

namespace {

void charge_looks(lua_State* lua, std::int64_t looks) {
  Sandbox::of(lua).charge(lua, looks * Sandbox::of(lua).look_steps());
}

// The length of the table at 1, charged as steps.
lua_Integer charged_length(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  charge_looks(lua, kLooksForLength);
  const auto length = static_cast<lua_Integer>(lua_rawlen(lua, 1));
  Sandbox::of(lua).charge(lua, 1 + length);
  return length;
}

int table_insert(lua_State* lua) {
  const lua_Integer end = charged_length(lua) + 1;
  lua_Integer at = end;
  if (lua_gettop(lua) == 3) {
    at = check_integer(lua, 2);
    luaL_argcheck(lua, at >= 1 && at <= end, 2, "position out of bounds");
    charge_looks(lua, 2 * (end - at));
    for (lua_Integer i = end; i > at; --i) {
      lua_rawgeti(lua, 1, i - 1);
      lua_rawseti(lua, 1, i);
    }
  } else if (lua_gettop(lua) != 2) {
    return luaL_error(lua, "wrong number of arguments to 'insert'");
  }
  lua_rawseti(lua, 1, at);
  return 0;
}

int table_remove(lua_State* lua) {
  const lua_Integer length = charged_length(lua);
  lua_Integer at = opt_integer(lua, 2, length);
  luaL_argcheck(lua, (length == 0 && at == 0) || (at >= 1 && at <= length + 1), 2,
                "position out of bounds");
  charge_looks(lua, 2 * (length - at));
  lua_rawgeti(lua, 1, at);
  for (; at < length; ++at) {
    lua_rawgeti(lua, 1, at + 1);
    lua_rawseti(lua, 1, at);
  }
  lua_pushnil(lua);
  lua_rawseti(lua, 1, at);
  return 1;
}

int table_concat(lua_State* lua) {
  const lua_Integer length = charged_length(lua);
  std::size_t size = 0;
  const char* const between = luaL_optlstring(lua, 2, "", &size);
  const lua_Integer last = std::min(opt_integer(lua, 4, length), length);
  const std::size_t most = Sandbox::of(lua).longest_text();
  std::string all;
  const lua_Integer first = std::max<lua_Integer>(1, opt_integer(lua, 3, 1));
  for (lua_Integer i = first; i <= last; ++i) {
    charge_looks(lua, 1);
    lua_rawgeti(lua, 1, i);
    std::size_t bytes = 0;
    if (!lua_isstring(lua, -1))
      return luaL_error(lua, "a %s at place %d cannot be joined", luaL_typename(lua, -1),
                        static_cast<int>(i));
    if (lua_type(lua, -1) == LUA_TNUMBER) Sandbox::of(lua).charge(lua, kStepsPerNumberText);
    const char* const text = lua_tolstring(lua, -1, &bytes);
    if (i != first) all.append(between, size);
    all.append(text, bytes);
    if (all.size() > most)
      return luaL_error(lua, "a text of more than %d bytes", static_cast<int>(most));
    lua_pop(lua, 1);
  }
  lua_pushlstring(lua, all.data(), all.size());
  return 1;
}

int table_pack(lua_State* lua) {
  const int n = lua_gettop(lua);
  lua_createtable(lua, n, 1);
  lua_insert(lua, 1);
  for (int i = n; i >= 1; --i) lua_rawseti(lua, 1, i);
  lua_pushinteger(lua, n);
  lua_setfield(lua, 1, "n");
  return 1;
}

int table_unpack(lua_State* lua) {
  constexpr lua_Integer kMost = 200;
  const lua_Integer length = charged_length(lua);
  const lua_Integer first = opt_integer(lua, 2, 1);
  const lua_Integer last = opt_integer(lua, 3, length);
  if (first > last) return 0;
  if (static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first) >= kMost)
    return luaL_error(lua, "too many results to unpack (more than %d)", static_cast<int>(kMost));
  luaL_checkstack(lua, kMost, "too many results to unpack");
  charge_looks(lua, last - first + 1);
  for (lua_Integer i = first; i <= last; ++i) lua_rawgeti(lua, 1, i);
  return static_cast<int>(last - first + 1);
}

// Is the value at place `a` of the table at 1 before that at `b`?
bool comes_before(lua_State* lua, lua_Integer a, lua_Integer b) {
  Sandbox::of(lua).charge(lua, 5 * Sandbox::of(lua).weight());
  charge_looks(lua, 2);
  bool before = false;
  if (lua_isnoneornil(lua, 2)) {
    lua_rawgeti(lua, 1, a);
    lua_rawgeti(lua, 1, b);
    before = lua_compare(lua, -2, -1, LUA_OPLT) != 0;
    lua_pop(lua, 2);
  } else {
    lua_pushvalue(lua, 2);
    lua_rawgeti(lua, 1, a);
    lua_rawgeti(lua, 1, b);
    lua_call(lua, 2, 1);
    before = lua_toboolean(lua, -1) != 0;
    lua_pop(lua, 1);
  }
  return before;
}

using Places = std::vector<lua_Integer>;

// Merges sorted runs of `width` into sorted runs of twice that.
void merge_runs(lua_State* lua, const Places& from, Places& to, std::size_t width) {
  for (std::size_t begin = 0; begin < from.size(); begin += 2 * width) {
    const std::size_t middle = std::min(begin + width, from.size());
    const std::size_t end = std::min(begin + 2 * width, from.size());
    std::size_t left = begin;
    std::size_t right = middle;
    for (std::size_t i = begin; i < end; ++i) {
      const bool take_right =
          right < end && (left == middle || comes_before(lua, from[right], from[left]));
      to[i] = take_right ? from[right++] : from[left++];
    }
  }
}

int table_sort(lua_State* lua) {
  const lua_Integer length = charged_length(lua);
  lua_settop(lua, 2);
  if (!lua_isnil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  Places places;
  for (lua_Integer i = 1; i <= length; ++i) places.push_back(i);
  charge_looks(lua, 2 * length);
  Places merged(places.size());
  for (std::size_t width = 1; width < places.size(); width *= 2) {
    merge_runs(lua, places, merged, width);
    places.swap(merged);
  }
  lua_createtable(lua, static_cast<int>(length), 0);
  for (lua_Integer i = 1; i <= length; ++i) {
    lua_rawgeti(lua, 1, places[static_cast<std::size_t>(i) - 1]);
    lua_rawseti(lua, 3, i);
  }
  for (lua_Integer i = 1; i <= length; ++i) {
    lua_rawgeti(lua, 3, i);
    lua_rawseti(lua, 1, i);
  }
  return 0;
}

}  // namespace

void open_table(lua_State* lua) {
  constexpr luaL_Reg kTable[] = {{"concat", table_concat}, {"insert", table_insert},
                                 {"pack", table_pack},     {"remove", table_remove},
                                 {"sort", table_sort},     {"unpack", table_unpack},
                                 {nullptr, nullptr}};
  luaL_newlib(lua, kTable);
  lua_setglobal(lua, "table");
}

}  // namespace holon::policy
