// math: functions of their arguments, and random numbers from the sandbox's seed.
#include <cmath>
#include <limits>
#include <lua.hpp>

#include "policy/library.hpp"
#include "policy/sandbox.hpp"

namespace holon::policy {

namespace {

template <double (*F)(double)>
int real_function(lua_State* lua) {
  lua_pushnumber(lua, F(check_number(lua, 1)));
  return 1;
}

// Pushes the value as a whole number if it fits in one.
void push_whole(lua_State* lua, double value) {
  lua_Integer whole = 0;
  if (lua_numbertointeger(value, &whole))
    lua_pushinteger(lua, whole);
  else
    lua_pushnumber(lua, value);
}

template <double (*F)(double)>
int rounding(lua_State* lua) {
  if (lua_isinteger(lua, 1))
    lua_settop(lua, 1);
  else
    push_whole(lua, F(check_number(lua, 1)));
  return 1;
}

int math_abs(lua_State* lua) {
  if (lua_isinteger(lua, 1)) {
    const auto value = static_cast<lua_Unsigned>(lua_tointeger(lua, 1));
    lua_pushinteger(lua, static_cast<lua_Integer>(lua_tointeger(lua, 1) < 0 ? 0u - value : value));
  } else {
    lua_pushnumber(lua, std::abs(check_number(lua, 1)));
  }
  return 1;
}

template <bool Largest>
int extreme(lua_State* lua) {
  int best = 1;
  check_number(lua, 1);
  for (int i = 2; i <= lua_gettop(lua); ++i) {
    check_number(lua, i);
    const bool less = lua_compare(lua, Largest ? best : i, Largest ? i : best, LUA_OPLT) != 0;
    if (less) best = i;
  }
  lua_pushvalue(lua, best);
  return 1;
}

int math_log(lua_State* lua) {
  const double value = check_number(lua, 1);
  if (lua_isnoneornil(lua, 2)) {
    lua_pushnumber(lua, std::log(value));
    return 1;
  }
  const double base = check_number(lua, 2);
  lua_pushnumber(lua, base == 2    ? std::log2(value)
                      : base == 10 ? std::log10(value)
                                   : std::log(value) / std::log(base));
  return 1;
}

int math_fmod(lua_State* lua) {
  lua_pushnumber(lua, std::fmod(check_number(lua, 1), check_number(lua, 2)));
  return 1;
}

int math_tointeger(lua_State* lua) {
  int whole = 0;
  const bool is_number = lua_type(lua, 1) == LUA_TNUMBER;
  const lua_Integer value = is_number ? lua_tointegerx(lua, 1, &whole) : 0;
  if (whole != 0)
    lua_pushinteger(lua, value);
  else
    lua_pushnil(lua);
  return 1;
}

int math_type(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_type(lua, 1) == LUA_TNUMBER)
    lua_pushstring(lua, lua_isinteger(lua, 1) ? "integer" : "float");
  else
    lua_pushnil(lua);
  return 1;
}

int math_random(lua_State* lua) {
  const std::uint64_t bits = Sandbox::of(lua).random();
  if (lua_gettop(lua) == 0) {
    lua_pushnumber(lua, static_cast<double>(bits >> 11) * 0x1p-53);
    return 1;
  }
  const bool both = lua_gettop(lua) > 1;
  const lua_Integer low = both ? check_integer(lua, 1) : 1;
  const lua_Integer high = check_integer(lua, both ? 2 : 1);
  luaL_argcheck(lua, low <= high, both ? 2 : 1, "interval is empty");
  const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t drawn =
      width == std::numeric_limits<std::uint64_t>::max() ? bits : bits % (width + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(static_cast<std::uint64_t>(low) + drawn));
  return 1;
}

}  // namespace

void open_math(lua_State* lua) {
  constexpr luaL_Reg kMath[] = {{"abs", math_abs},
                                {"ceil", rounding<std::ceil>},
                                {"cos", real_function<std::cos>},
                                {"exp", real_function<std::exp>},
                                {"floor", rounding<std::floor>},
                                {"fmod", math_fmod},
                                {"log", math_log},
                                {"max", extreme<true>},
                                {"min", extreme<false>},
                                {"random", math_random},
                                {"sin", real_function<std::sin>},
                                {"sqrt", real_function<std::sqrt>},
                                {"tointeger", math_tointeger},
                                {"type", math_type},
                                {nullptr, nullptr}};
  luaL_newlib(lua, kMath);
  lua_pushnumber(lua, std::numeric_limits<double>::infinity());
  lua_setfield(lua, -2, "huge");
  lua_pushnumber(lua, 3.141592653589793);
  lua_setfield(lua, -2, "pi");
  lua_pushinteger(lua, std::numeric_limits<lua_Integer>::max());
  lua_setfield(lua, -2, "maxinteger");
  lua_pushinteger(lua, std::numeric_limits<lua_Integer>::min());
  lua_setfield(lua, -2, "mininteger");
  lua_setglobal(lua, "math");
}

}  // namespace holon::policy
