#include "policy/kept.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <lua.hpp>
#include <string_view>
#include <tuple>
#include <vector>

namespace holon::policy {

namespace {

struct KeptKey {
  int type = LUA_TNUMBER;
  bool is_whole = false;
  lua_Integer whole = 0;
  double number = 0;  // 0 and 1: false and true
  std::string text;

  // The order of keys: numbers, then texts, then false and true.
  bool operator<(const KeptKey& other) const {
    const auto place = [](int kind) {
      return kind == LUA_TNUMBER ? 0 : kind == LUA_TSTRING ? 1 : 2;
    };
    return std::tuple(place(type), number, whole, std::string_view(text)) <
           std::tuple(place(other.type), other.number, other.whole, std::string_view(other.text));
  }
};

std::string lua_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else if (code < ' ' || code > '~')
      quoted += fmt::format("\\{:03}", code);
    else
      quoted += c;
  }
  return quoted + '"';
}

// A number as Lua reads it again: the same number, whole or not.
std::string number_text(bool is_whole, lua_Integer whole, double number) {
  if (is_whole) return whole == LUA_MININTEGER ? "0x8000000000000000" : fmt::format("{}", whole);
  if (std::isnan(number)) return "(0/0)";
  if (std::isinf(number)) return number > 0 ? "1e999" : "-1e999";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string_view bytes_at(lua_State* lua, int index) {
  std::size_t length = 0;
  const char* const text = lua_tolstring(lua, index, &length);
  return {text, length};
}

class KeptWriter {
 public:
  explicit KeptWriter(lua_State* lua) : lua_(lua) {}

  // Writes the value on top of the stack. False: it cannot be kept.
  bool value(const std::string& where, int depth) {
    switch (lua_type(lua_, -1)) {
      case LUA_TNUMBER:
        return put(number_text(lua_isinteger(lua_, -1) != 0, lua_tointeger(lua_, -1),
                               lua_tonumber(lua_, -1)));
      case LUA_TSTRING:
        return bytes_at(lua_, -1).size() <= kMostKept ? put(lua_quoted(bytes_at(lua_, -1)))
                                                      : too_much();
      case LUA_TBOOLEAN:
        return put(lua_toboolean(lua_, -1) != 0 ? "true" : "false");
      case LUA_TTABLE:
        return table(where, depth);
      default:
        what_ = fmt::format("{} is a {}; kept are numbers, texts, true, false and tables of these",
                            where, luaL_typename(lua_, -1));
        return false;
    }
  }

  std::string text;
  const std::string& what() const { return what_; }

 private:
  bool put(std::string_view more) {
    text += more;
    return text.size() <= kMostKept || too_much();
  }
  bool too_much() {
    what_ = fmt::format("state takes more than {} KiB as text", kMostKept >> 10);
    return false;
  }

  bool table(const std::string& where, int depth) {
    if (depth > kDeepestKept || lua_checkstack(lua_, 4) == 0) {
      what_ = fmt::format("{} is nested more than {} deep", where, kDeepestKept);
      return false;
    }
    std::vector<KeptKey> keys;
    if (!list_keys(where, keys)) return false;
    std::sort(keys.begin(), keys.end());
    if (!put("{")) return false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string key = written(keys[i]);
      if (!put(fmt::format("{}[{}] = ", i == 0 ? "" : ", ", key))) return false;
      push(keys[i]);
      lua_rawget(lua_, -2);
      const bool kept = value(fmt::format("{}[{}]", where, key), depth + 1);
      lua_pop(lua_, 1);
      if (!kept) return false;
    }
    return put("}");
  }

  // Lists the keys of the table on top of the stack.
  bool list_keys(const std::string& where, std::vector<KeptKey>& keys) {
    constexpr std::size_t kShortestEntry = 6;  // "[", and "] = 1" behind the key
    std::size_t least = 0;                     // bytes that these keys take
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      lua_pop(lua_, 1);
      if (least <= kMostKept && key_on_top(where, keys)) {
        least += written(keys.back()).size() + kShortestEntry;
        continue;
      }
      lua_pop(lua_, 1);
      return what_.empty() ? too_much() : false;
    }
    return true;
  }

  bool key_on_top(const std::string& where, std::vector<KeptKey>& keys) {
    KeptKey key;
    key.type = lua_type(lua_, -1);
    if (key.type == LUA_TNUMBER) {
      key.is_whole = lua_isinteger(lua_, -1) != 0;
      key.whole = key.is_whole ? lua_tointeger(lua_, -1) : 0;
      key.number = lua_tonumber(lua_, -1);
    } else if (key.type == LUA_TSTRING) {
      if (bytes_at(lua_, -1).size() > kMostKept) return too_much();
      key.text = bytes_at(lua_, -1);
    } else if (key.type == LUA_TBOOLEAN) {
      key.number = lua_toboolean(lua_, -1);
    } else {
      what_ = fmt::format("{} has a {} as a key; kept are numbers, texts, true, false", where,
                          luaL_typename(lua_, -1));
      return false;
    }
    keys.push_back(std::move(key));
    return true;
  }

  static std::string written(const KeptKey& key) {
    if (key.type == LUA_TSTRING) return lua_quoted(key.text);
    if (key.type == LUA_TBOOLEAN) return key.number != 0 ? "true" : "false";
    return number_text(key.is_whole, key.whole, key.number);
  }

  void push(const KeptKey& key) {
    if (key.type == LUA_TSTRING)
      lua_pushlstring(lua_, key.text.data(), key.text.size());
    else if (key.type == LUA_TBOOLEAN)
      lua_pushboolean(lua_, key.number != 0);
    else if (key.is_whole)
      lua_pushinteger(lua_, key.whole);
    else
      lua_pushnumber(lua_, key.number);
  }

  lua_State* lua_;
  std::string what_;
};

}  // namespace

Result<std::string> kept_text(lua_State* lua) {
  KeptWriter writer(lua);
  if (writer.value("state", 1)) return std::move(writer.text);
  return fail(Errc::invalid_argument, writer.what());
}

}  // namespace holon::policy
