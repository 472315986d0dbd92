// string: as Lua's own, with steps counted, texts bounded before they are made, and no addresses.
#include <fmt/core.h>
#include <fmt/printf.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "policy/library.hpp"
#include "policy/pattern.hpp"
#include "policy/sandbox.hpp"

namespace holon::policy {

namespace {

constexpr std::int64_t kBytesPerStep = 8;  // of what is copied or compared

std::string_view text_at(lua_State* lua, int index) {
  if (lua_type(lua, index) == LUA_TNUMBER) Sandbox::of(lua).charge(lua, kStepsPerNumberText);
  std::size_t length = 0;
  const char* const text = luaL_checklstring(lua, index, &length);
  return {text, length};
}

// Bounds every text that comes back to Lua, or goes into one that does: texts grow no longer.
void check_length(lua_State* lua, std::size_t length) {
  Sandbox& sandbox = Sandbox::of(lua);
  if (length > sandbox.longest_text())
    luaL_error(lua, "a text of more than %d bytes", static_cast<int>(sandbox.longest_text()));
  sandbox.charge(lua, 1 + static_cast<std::int64_t>(length) / kBytesPerStep);
}

int give_text(lua_State* lua, std::string_view text) {
  check_length(lua, text.size());
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

// Turns Lua's place, which may count from the end, into an offset from 0 on.
std::size_t offset_of(lua_Integer place, std::size_t length) {
  const auto size = static_cast<lua_Integer>(length);
  if (place > 0) return static_cast<std::size_t>(place - 1);
  if (place == 0 || place < -size) return 0;
  return static_cast<std::size_t>(size + place);
}

int string_len(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(text_at(lua, 1).size()));
  return 1;
}

int string_sub(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  const auto size = static_cast<lua_Integer>(text.size());
  const std::size_t begin = offset_of(check_integer(lua, 2), text.size());
  lua_Integer end = opt_integer(lua, 3, -1);
  if (end < 0) end = std::max<lua_Integer>(0, size + end + 1);
  end = std::min(end, size);
  if (static_cast<lua_Integer>(begin) >= end) return give_text(lua, "");
  return give_text(lua, text.substr(begin, static_cast<std::size_t>(end) - begin));
}

template <int (*F)(int)>
int changed_case(lua_State* lua) {
  std::string text(text_at(lua, 1));
  for (char& c : text) c = static_cast<char>(F(static_cast<unsigned char>(c)));
  return give_text(lua, text);
}

int string_reverse(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  return give_text(lua, std::string(text.rbegin(), text.rend()));
}

int string_rep(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  const lua_Integer n = check_integer(lua, 2);
  const std::string_view between = lua_isnoneornil(lua, 3) ? "" : text_at(lua, 3);
  if (n <= 0) return give_text(lua, "");
  const auto times = static_cast<std::size_t>(n);
  const std::size_t most = Sandbox::of(lua).longest_text();
  const std::size_t each = text.size() + between.size();
  if (each == 0) return give_text(lua, "");
  check_length(lua, times > most / each + 1 ? most + 1 : times * each - between.size());
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all.append(i == 0 ? "" : between).append(text);
  return give_text(lua, all);
}

int string_byte(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  const std::size_t at = offset_of(opt_integer(lua, 2, 1), text.size());
  if (at >= text.size()) return 0;
  lua_pushinteger(lua, static_cast<unsigned char>(text[at]));
  return 1;
}

int string_char(lua_State* lua) {
  std::string text;
  for (int i = 1; i <= lua_gettop(lua); ++i) {
    const lua_Integer code = check_integer(lua, i);
    luaL_argcheck(lua, code >= 0 && code <= 255, i, "value out of range");
    text += static_cast<char>(code);
  }
  return give_text(lua, text);
}

// ---- patterns

std::optional<PatternMatch> matched(lua_State* lua, std::string_view text, std::string_view pattern,
                                    std::size_t from) {
  try {
    return find_pattern(text, pattern, from, Sandbox::of(lua).steps_left());
  } catch (const PatternError& error) {
    luaL_error(lua, "%s", error.what());
    return std::nullopt;
  }
}

void push_capture(lua_State* lua, std::string_view text, const Capture& capture) {
  if (capture.position)
    lua_pushinteger(lua, static_cast<lua_Integer>(capture.begin) + 1);
  else
    give_text(lua, text.substr(capture.begin, capture.length));
}

// Pushes the captures or, without any and with `whole`, all that was matched.
int push_captures(lua_State* lua, std::string_view text, const PatternMatch& match, bool whole) {
  if (match.count == 0 && whole)
    return give_text(lua, text.substr(match.begin, match.end - match.begin));
  luaL_checkstack(lua, static_cast<int>(match.count), "too many captures");
  for (std::size_t i = 0; i < match.count; ++i) push_capture(lua, text, match.captures[i]);
  return static_cast<int>(match.count);
}

int string_find(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  const std::string_view pattern = text_at(lua, 2);
  const std::size_t from = offset_of(opt_integer(lua, 3, 1), text.size());
  if (from > text.size()) {
    lua_pushnil(lua);
    return 1;
  }
  PatternMatch match;
  if (lua_toboolean(lua, 4)) {
    Sandbox::of(lua).charge(lua, static_cast<std::int64_t>(text.size() * (pattern.size() + 1)));
    match.begin = text.find(pattern, from);
    match.end = match.begin + pattern.size();
    if (match.begin == std::string_view::npos) return lua_pushnil(lua), 1;
  } else {
    const auto found = matched(lua, text, pattern, from);
    if (!found) return lua_pushnil(lua), 1;
    match = *found;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(match.begin) + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(match.end));
  return 2 + push_captures(lua, text, match, false);
}

int string_match(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  const std::string_view pattern = text_at(lua, 2);
  const std::size_t from = offset_of(opt_integer(lua, 3, 1), text.size());
  const auto found = from > text.size() ? std::nullopt : matched(lua, text, pattern, from);
  if (!found) return lua_pushnil(lua), 1;
  return push_captures(lua, text, *found, true);
}

// Upvalues: text, pattern, where to go on.
int next_match(lua_State* lua) {
  const std::string_view text = text_at(lua, lua_upvalueindex(1));
  const std::string_view pattern = text_at(lua, lua_upvalueindex(2));
  const auto from = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(3)));
  const auto found = from > text.size() ? std::nullopt : matched(lua, text, pattern, from);
  if (!found) return lua_pushnil(lua), 1;
  const std::size_t next = found->end == found->begin ? found->end + 1 : found->end;
  lua_pushinteger(lua, static_cast<lua_Integer>(next));
  lua_replace(lua, lua_upvalueindex(3));
  return push_captures(lua, text, *found, true);
}

int string_gmatch(lua_State* lua) {
  text_at(lua, 1);
  text_at(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, &next_match, 3);
  return 1;
}

// Adds a replacement, with "%1" and the like filled in.
void add_template(lua_State* lua, std::string& out, std::string_view text,
                  const PatternMatch& match) {
  const std::string_view with = text_at(lua, 3);
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with[i] != '%' || i + 1 == with.size()) {
      out += with[i];
      continue;
    }
    const char c = with[++i];
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      if (c != '%') luaL_error(lua, "a '%%' of a replacement stands before a digit or '%%'");
      out += '%';
      continue;
    }
    const auto index = static_cast<std::size_t>(c - '0');
    if (index == 0 || (index == 1 && match.count == 0)) {
      out += text.substr(match.begin, match.end - match.begin);
    } else {
      if (index > match.count) luaL_error(lua, "a replacement names capture %d", c - '0');
      const Capture& capture = match.captures[index - 1];
      out += capture.position ? std::to_string(capture.begin + 1)
                              : std::string(text.substr(capture.begin, capture.length));
    }
  }
}

// Adds what the value at 3 says for the match; nothing or false: the match stays as it is.
void add_replacement(lua_State* lua, std::string& out, std::string_view text,
                     const PatternMatch& match) {
  const int kind = lua_type(lua, 3);
  if (kind == LUA_TSTRING || kind == LUA_TNUMBER) return add_template(lua, out, text, match);
  if (kind == LUA_TFUNCTION) {
    lua_pushvalue(lua, 3);
    lua_call(lua, push_captures(lua, text, match, true), 1);
  } else {
    if (match.count == 0)
      give_text(lua, text.substr(match.begin, match.end - match.begin));
    else
      push_capture(lua, text, match.captures[0]);
    Sandbox::of(lua).charge(lua, Sandbox::of(lua).look_steps());
    lua_rawget(lua, 3);
  }
  if (!lua_toboolean(lua, -1))
    out += text.substr(match.begin, match.end - match.begin);
  else if (lua_isstring(lua, -1))
    out += text_at(lua, -1);
  else
    luaL_error(lua, "a %s is no replacement", luaL_typename(lua, -1));
  lua_pop(lua, 1);
}

int string_gsub(lua_State* lua) {
  const std::string_view text = text_at(lua, 1);
  const std::string_view pattern = text_at(lua, 2);
  const int kind = lua_type(lua, 3);
  luaL_argexpected(
      lua,
      kind == LUA_TSTRING || kind == LUA_TNUMBER || kind == LUA_TFUNCTION || kind == LUA_TTABLE, 3,
      "string/function/table");
  const lua_Integer most = opt_integer(lua, 4, static_cast<lua_Integer>(text.size()) + 1);
  std::string out;
  std::size_t at = 0;
  lua_Integer n = 0;
  while (n < most && at <= text.size()) {
    const auto found = matched(lua, text, pattern, at);
    if (!found) break;
    ++n;
    out += text.substr(at, found->begin - at);
    add_replacement(lua, out, text, *found);
    check_length(lua, out.size());
    at = found->end;
    if (found->end == found->begin) {
      if (at < text.size()) out += text[at];
      ++at;
    }
    if (pattern.starts_with('^')) break;
  }
  if (at < text.size()) out += text.substr(at);
  give_text(lua, out);
  lua_pushinteger(lua, n);
  return 2;
}

// ---- format

constexpr std::size_t kLongestSpec = 12;

// Reads "%-08.3f" without its letter; at most two digits each for width and precision.
std::string read_spec(lua_State* lua, std::string_view format, std::size_t& at) {
  std::string spec = "%";
  const auto digits = [&] {
    for (int i = 0;
         i < 2 && at < format.size() && std::isdigit(static_cast<unsigned char>(format[at])) != 0;
         ++i)
      spec += format[at++];
  };
  while (at < format.size() && std::string_view("-+ #0").find(format[at]) != std::string::npos &&
         spec.size() < kLongestSpec / 2)
    spec += format[at++];
  digits();
  if (at < format.size() && format[at] == '.') {
    spec += format[at++];
    digits();
  }
  if (at >= format.size()) luaL_error(lua, "a format ends with '%s'", spec.c_str());
  return spec;
}

template <class Value>
void add_printed(lua_State* lua, std::string& out, const std::string& spec, Value value) {
  Sandbox::of(lua).charge(lua, kStepsPerNumberText);
  std::string text;
  try {
    text = fmt::sprintf(spec, value);
  } catch (const fmt::format_error&) {
    luaL_error(lua, "'%s' is no format", spec.c_str());
  }
  // 1e300 has 301 digits before the point, and each takes as long as a short number.
  Sandbox::of(lua).charge(lua, 6 * static_cast<std::int64_t>(text.size()));
  out += text;
}

void add_padded(std::string& out, const std::string& spec, std::string_view text) {
  const bool left = spec.find('-') != std::string::npos;
  const std::size_t dot = spec.find('.');
  const std::size_t first = spec.find_first_of("123456789");
  const std::size_t width = first < dot && first != std::string::npos
                                ? std::strtoul(spec.c_str() + first, nullptr, 10)
                                : 0;
  if (dot != std::string::npos)
    text = text.substr(0, std::strtoul(spec.c_str() + dot + 1, nullptr, 10));
  const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
  out += left ? std::string(text) + blanks : blanks + std::string(text);
}

void add_formatted(lua_State* lua, std::string& out, std::string spec, char letter, int argument) {
  switch (letter) {
    case 'd':
    case 'i':
      return add_printed(lua, out, spec + "d",
                         static_cast<long long>(check_integer(lua, argument)));
    case 'x':
    case 'X':
    case 'o':
      return add_printed(lua, out, spec + letter,
                         static_cast<unsigned long long>(check_integer(lua, argument)));
    case 'c':
      out += static_cast<char>(check_integer(lua, argument));
      return;
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G':
      return add_printed(lua, out, spec + letter, check_number(lua, argument));
    case 's':
      luaL_checkany(lua, argument);
      push_text(lua, argument);
      add_padded(out, spec, text_at(lua, -1));
      lua_pop(lua, 1);
      return;
    default:
      luaL_error(lua, "'%s%c' is no format; accepted: %%d %%x %%o %%c %%e %%f %%g %%s %%%%",
                 spec.c_str(), letter);
  }
}

int string_format(lua_State* lua) {
  const std::string_view format = text_at(lua, 1);
  std::string out;
  int argument = 1;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    if (++at < format.size() && format[at] == '%') {
      out += format[at++];
      continue;
    }
    const std::string spec = read_spec(lua, format, at);
    add_formatted(lua, out, spec, format[at++], ++argument);
    check_length(lua, out.size());
  }
  return give_text(lua, out);
}

}  // namespace

void open_string(lua_State* lua) {
  constexpr luaL_Reg kString[] = {{"byte", string_byte},
                                  {"char", string_char},
                                  {"find", string_find},
                                  {"format", string_format},
                                  {"gmatch", string_gmatch},
                                  {"gsub", string_gsub},
                                  {"len", string_len},
                                  {"lower", changed_case<std::tolower>},
                                  {"match", string_match},
                                  {"rep", string_rep},
                                  {"reverse", string_reverse},
                                  {"sub", string_sub},
                                  {"upper", changed_case<std::toupper>},
                                  {nullptr, nullptr}};
  luaL_newlib(lua, kString);
  // Lets name:lower() mean string.lower(name).
  lua_pushstring(lua, "");
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
  lua_setglobal(lua, "string");
}

}  // namespace holon::policy
