// What a policy's text can do, and what it cannot.
#include "policy/sandbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <ctime>
#include <lua.hpp>
#include <vector>

#include "policy/large_tables.hpp"
#include "policy/line_costs.hpp"
#include "policy/pattern.hpp"
#include "policy/table_looks.hpp"

namespace holon::policy {
namespace {

// "", or what went wrong.
std::string run(const std::string& text) {
  auto sandbox = Sandbox::create();
  EXPECT_TRUE(sandbox);
  const Status ran = (*sandbox)->run(text, "t.lua");
  return ran ? "" : to_string(ran.error());
}

TEST(Sandbox, RunsWhatAPolicyNeeds) {
  EXPECT_EQ(run(R"lua(
    local t = {5, 3, 9, 1}
    table.sort(t)
    assert(table.concat(t, ",") == "1,3,5,9")
    table.sort(t, function(a, b) return a > b end)
    assert(t[1] == 9 and t[4] == 1)
    table.insert(t, 7); table.insert(t, 1, 2)
    assert(#t == 6 and t[1] == 2 and table.remove(t) == 7 and #t == 5)
    assert(select('#', table.unpack({1, 2, 3})) == 3 and table.pack(1, nil).n == 2)
    assert(math.max(1, 5, 3) == 5 and math.min(4, 2) == 2 and math.floor(-0.5) == -1)
    assert(math.huge > 1e300 and math.type(1) == "integer" and math.tointeger(3.0) == 3)
    assert(tostring(nil) == "nil" and tostring(1.5) == "1.5" and tonumber("0x10") == 16)
    assert(tonumber("12x") == nil and #tostring(12) == 2)
    local sum = 0
    for _, v in ipairs({1, 2, 3}) do sum = sum + v end
    assert(sum == 6 and next({}) == nil)
  )lua"),
            "");
}

TEST(Sandbox, HasLuasPatterns) {
  EXPECT_EQ(run(R"lua(
    assert(("18:05"):match("^(%d+):(%d+)$") == "18")
    local h, m = string.match("18:05", "(%d+):(%d+)")
    assert(h == "18" and m == "05")
    assert(select(2, ("abc"):find("b")) == 2 and ("a.c"):find(".", 1, true) == 2)
    assert(("hello world"):gsub("o", "0") == "hell0 w0rld")
    assert(("hello"):gsub("", "-") == "-h-e-l-l-o-")
    assert(("abc"):gsub("%w", "%0%0") == "aabbcc")
    assert(("a=1, b=2"):gsub("(%w)=(%w)", "%2=%1") == "1=a, 2=b")
    assert(("$x $y"):gsub("%$(%w)", {x = "1"}) == "1 $y")
    assert(("abc"):gsub("%w", function(c) return c == "b" and "B" end) == "aBc")
    local words = {}
    for w in ("one two  three"):gmatch("%a+") do words[#words + 1] = w end
    assert(#words == 3 and words[3] == "three")
    assert(("f(a(b)c)d"):match("%b()") == "(a(b)c)" and ("THE (q) x"):find("%f[%a]%a+%f[%A]") == 1)
    assert(("x"):rep(3, "-") == "x-x-x" and ("abc"):reverse() == "cba" and ("aB"):upper() == "AB")
    assert(("abc"):sub(-2) == "bc" and ("abc"):sub(2, 2) == "b" and ("abc"):byte(2) == 98)
    assert(("[a]"):match("[%]]") == "]" and ("x-y"):match("[a-z]-%-") == "x-")
    assert(("abab"):match("(ab)%1") == "ab" and ("k"):match("()") == 1)
    assert(string.format("%5.1f|%-4s|%03d|%x|%%|%s", 3.14159, "ab", 7, 255, true)
           == "  3.1|ab  |007|ff|%|true")
  )lua"),
            "");
}

TEST(Sandbox, HasNothingThatReachesOut) {
  for (const char* name :
       {"os",           "io",           "debug",    "package", "require",        "load",
        "loadstring",   "dofile",       "loadfile", "pcall",   "xpcall",         "coroutine",
        "setmetatable", "getmetatable", "rawset",   "rawget",  "collectgarbage", "print",
        "_G",           "utf8",         "warn"})
    EXPECT_EQ(run(std::string("assert(") + name + " == nil)"), "") << name;
  EXPECT_EQ(run("assert(string.dump == nil and table.move == nil and math.randomseed == nil)"), "");
  EXPECT_NE(run("\x1bLua"), "") << "compiled Lua is not read";
}

TEST(Sandbox, TablesAreWalkedInTheOrderOfTheirKeys) {
  EXPECT_EQ(run(R"lua(
    local t = {[3] = 1, b = 1, [1] = 1, a = 1, [2.5] = 1, [true] = 1, [10] = 1}
    local keys = {}
    for k in pairs(t) do keys[#keys + 1] = tostring(k) end
    assert(table.concat(keys, " ") == "1 2.5 3 10 a b true", table.concat(keys, " "))
    for k in pairs(t) do t[k] = nil end
    assert(next(t) == nil)
    t = {x = 1, y = 2}
    local k, v = next(t, "x")
    assert(k == "y" and v == 2 and next(t, "y") == nil)
  )lua"),
            "");
  EXPECT_NE(run("for k in pairs({[{}] = 1}) do end").find("has no order"), std::string::npos);
}

TEST(Sandbox, SaysNoAddress) {
  EXPECT_EQ(run(R"lua(
    assert(tostring({}) == "table" and tostring(print or type) == "function")
    assert(string.format("%s", {}) == "table")
  )lua"),
            "");
  EXPECT_NE(run("string.format('%p', {})"), "");
}

TEST(Sandbox, RandomNumbersComeFromTheSeed) {
  const auto draw = [](std::uint64_t seed) {
    auto sandbox = Sandbox::create();
    (*sandbox)->seed(seed);
    EXPECT_TRUE((*sandbox)->run("x = math.random(1, 1000000)", "t.lua"));
    lua_getglobal((*sandbox)->lua(), "x");
    return lua_tointeger((*sandbox)->lua(), -1);
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

// Each would take for ever, or all memory, or bring the program down.
TEST(Sandbox, EndsWhatDoesNotEnd) {
  const char* const kHostile[] = {
      "while true do end",
      "repeat local x = 1 until false",
      "for i = 1, math.huge do end",
      "goto a ::a:: goto a",
      "local function f() return f() end f()",
      "local function f() return 1 + f() end f()",
      "local t = {} while true do t[#t + 1] = {} end",
      "local s = 'x' while true do s = s .. s end",
      "local s = ('x'):rep(1e9)",
      "local s = ('x'):rep(1e4, ('y'):rep(1e5))",
      "local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(60000) end",
      "local s = ('a'):rep(30) s:match(('a?'):rep(30) .. ('a'):rep(30) .. 'b')",
      "local s = ('a'):rep(60000) s:find('.-.-.-.-.-b')",
      "local s = ('a'):rep(60000) s:gsub('(a*)*b', '')",
      "local s = ('('):rep(60000) s:find(('%b()'):rep(20))",
      "('x'):find(('('):rep(60000))",
      "local t = {} for i = 1, 3e4 do t[i] = i end table.sort(t, function() while true do end end)",
      "table.sort({3, 1, 2}, function() table.sort({1, 2}, function() return error('x') end) end)",
      "local t = {1} table.sort(t, function(a, b) return true end) while true do table.sort(t) end",
      "local function f() table.sort({1, 2}, f) end f()",
      "('x'):gsub('x', function() while true do end end)",
      "local function f() return ('x'):gsub('x', f) end f()",
      "error({})",
      "error(nil)",
      "error(('x'):rep(60000))",
      "table.unpack({}, 1, 1e8)",
      "table.unpack({}, 1, math.maxinteger)",
      "local t = {} for i = 1, 1e5 do t[i] = 'x' end table.concat(t, ('y'):rep(1000))",
      "string.format(('%s'):rep(1e4), 1)",
      "string.format('%999999d', 1)",
      "for _ in pairs(setmetatable) do end",
      "local t = {} for i = 1, 1e5 do t[i] = i end while true do next(t, 1) end",
      "local a, b = ('x'):rep(6e4), ('x'):rep(6e4) while true do if a .. '' == b .. '' then end "
      "end",
      "local t = {} for i = 1, 1e6 do t[1 + i * 2^-50] = i end",
      "local t = {} for i = 1, 1e6 do t[i * 8191] = i end",
      "local t, k = {}, 1.5 for i = 1, 9000 do t[1 + i * 2^-50] = i end while true do k = t[k] end",
      "string.rep = nil; ('x'):rep(3)",
      "local x <close> = {}",
  };
  for (const char* text : kHostile) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_NE(run(text), "") << text;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    EXPECT_LT(took.count(), 20) << text;
  }
}

TEST(Sandbox, SaysWhereItWentWrong) {
  EXPECT_EQ(run("\n\nlocal x = nil + 1"), "t.lua:3: attempt to perform arithmetic on a nil value");
  EXPECT_EQ(run("x = = 1"), "t.lua:1: unexpected symbol near '='");
  EXPECT_EQ(run("\nwhile true do end"), "t.lua:2: more than 1000000 steps in one call");
  EXPECT_EQ(run("error('mine')"), "t.lua:1: mine");
  EXPECT_EQ(run("error({})"), "t.lua: an error without words (a table)");
  EXPECT_NE(run("local t = {} for i = 1, 1e9 do t[i] = i end").find("memory"), std::string::npos);
}

// A text that is spent does not spoil the next call.
TEST(Sandbox, GoesOnAfterAnError) {
  auto sandbox = Sandbox::create();
  EXPECT_FALSE((*sandbox)->run("local t = {} while true do t[#t + 1] = {} end", "t.lua"));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE((*sandbox)->run("while true do end", "t.lua"));
    EXPECT_TRUE((*sandbox)->run("local t = {} for i = 1, 1000 do t[i] = {} end", "t.lua"));
  }
  EXPECT_EQ(lua_gettop((*sandbox)->lua()), 0);
}

// Steps that a thousand turns of a loop over `body` take.
std::int64_t steps_of(const std::string& body, const std::string& before = "") {
  auto sandbox = Sandbox::create();
  const std::string text = before + " function f() for i = 1, 1000 do " + body + " end end";
  const Status ran = (*sandbox)->run(text, "t.lua");
  EXPECT_TRUE(ran) << to_string(ran.error());
  lua_getglobal((*sandbox)->lua(), "f");
  const Status called = (*sandbox)->call(0, 0, 1'000'000'000);
  EXPECT_TRUE(called) << to_string(called.error());
  return (*sandbox)->steps_taken();
}

// Most instructions take some five nanoseconds. What takes longer counts as several.
TEST(Sandbox, WhatTakesLongIsManySteps) {
  EXPECT_NEAR(steps_of("local y = i + 1"), 3'000, 1'000);
  // A number becomes a text in 0.4 us, whether that text exists already or not.
  EXPECT_GT(steps_of("local s = x .. ''", "x = 1.5"), 40'000);
  EXPECT_GT(steps_of("local s = x .. x", "x = 1.5"), 80'000);
  EXPECT_GT(steps_of("local s =\nx\n..\nx..\nx", "x = 1.5"), 120'000);
  EXPECT_GT(steps_of("tostring(1.5)"), 40'000);
  EXPECT_GT(steps_of("string.len(1.5)"), 40'000);
  EXPECT_GT(steps_of("string.format('%g', 1.5)"), 40'000);
  EXPECT_GT(steps_of("string.format('%f', 1e300)"), 900'000);
  EXPECT_GT(steps_of("table.concat({1.5, 2.5})"), 80'000);
  // A block is asked for, and found to be garbage later.
  EXPECT_GT(steps_of("local t = {}"), 7'000);
  EXPECT_GT(steps_of("local t = {a = 1}"), 13'000);
  EXPECT_GT(steps_of("local f = function() return i end"), 14'000);
  // Long texts: comparing two, and reading a number.
  const std::string two = "a, b = ('x'):rep(60000) .. 'a', ('x'):rep(60000) .. 'b'";
  EXPECT_GT(steps_of("local c = a == b", two), 300'000);
  EXPECT_GT(steps_of("local c = a < b", two), 300'000);
  EXPECT_GT(steps_of("tonumber(a)", two), 1'000'000);
  EXPECT_GT(steps_of("for j = b, b, b do end", "b = '1.1e-300'"), 20'000);
}

// Numbers can be chosen so that all of them fall together, whatever the size of the table: each
// look at one passes by the others.
TEST(Sandbox, ALookIntoALargeTableIsManySteps) {
  const std::string far = "t = {} for i = 1, 2000 do t[1 + i * 2^-50] = i end k = 1 + 2^-50\n";
  constexpr std::int64_t kLeast = 1'000 * 2'048 / 8;
  EXPECT_GT(steps_of("local x = t[k]", far), kLeast);
  EXPECT_GT(steps_of("t[k] = i", far), kLeast);
  EXPECT_GT(steps_of("local n = #t", far), kLeast);
  // An assignment is done on its last line.
  EXPECT_GT(steps_of("\nt[k]\n=\n1\n", far + " local t, k = t, k"), kLeast);
  EXPECT_GT(steps_of("table.insert(t, i)", far + " s = {}"), kLeast);
  EXPECT_GT(steps_of("for _, x in ipairs({1}) do end", far), kLeast);
  // A name in the text of the policy is a text, and these do not fall together.
  EXPECT_LT(steps_of("local x = t.name", far), 10'000);
  // Of small ones, and of lists, a look is a look.
  EXPECT_LT(steps_of("local x = t[i % 20]", "t = {} for i = 1, 20 do t[i * 1.5] = i end\n"),
            10'000);
  EXPECT_LT(steps_of("local x = t[i]", "t = {} for i = 1, 1000 do t[i] = i end"), 10'000);
}

TEST(Sandbox, ATableHasSoManyKeysBesideItsList) {
  EXPECT_EQ(run("for i = 1, 20000 do s = s or {} s[i] = true end"), "");
  const std::string said = run("t = {} for i = 1, 1e5 do t[i * 7919] = true end");
  EXPECT_NE(said, "");
  auto sandbox = Sandbox::create();
  EXPECT_TRUE(
      (*sandbox)->run("t = {} n = 0\n"
                      "function f() for i = 1, 20 do n = n + 1 t[n * 7919] = true end end",
                      "t.lua"));
  Status last;
  for (int i = 0; i < 2'000 && last; ++i) {
    lua_getglobal((*sandbox)->lua(), "f");
    last = (*sandbox)->call(0, 0, 1'000'000);
  }
  ASSERT_FALSE(last);
  EXPECT_NE(last.error().what.find("16384 keys for a table"), std::string::npos)
      << last.error().what;
  lua_getglobal((*sandbox)->lua(), "n");
  EXPECT_EQ(lua_tointeger((*sandbox)->lua(), -1), 16'385);
}

TEST(TableLooks, AreThoseOfTheLinesThatLook) {
  lua_State* const lua = luaL_newstate();
  const auto looks = [lua](const std::string& text) {
    EXPECT_EQ(luaL_loadstring(lua, text.c_str()), LUA_OK);
    std::string dumped;
    const auto append = [](lua_State*, const void* bytes, std::size_t size, void* to) {
      static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
      return 0;
    };
    lua_dump(lua, append, &dumped, 0);
    lua_pop(lua, 1);
    return table_looks(dumped);
  };
  using Looks = std::vector<std::int64_t>;
  EXPECT_EQ(looks("local a = b.c + 1 x.y = 'z' f()"), Looks{});
  EXPECT_EQ(looks("local a, k = ...\nreturn a[k]"), (Looks{0, 1}));
  EXPECT_EQ(looks("local a, k = ...\na[k] = 1 a[k] = 2\n\nreturn #a"), (Looks{0, 2, 0, 4}));
  EXPECT_EQ(looks("local a, k = ...\na[k]\n=\n1"), (Looks{0, 0, 0, 1}));
  EXPECT_EQ(looks("local a = ...\nreturn a[7], {[8.5] = 1}"), (Looks{0, 2}));
  std::string far = "local a, k = ...\nlocal function f()" + std::string(1'000, '\n');
  far += "return a[k] end\nlocal s, i, r = 'text', 77777777777, 1.5\nreturn a[k]";
  const Looks found = looks(far);
  ASSERT_EQ(found.size(), 1'004U);
  EXPECT_EQ(found[1'001], 1);
  EXPECT_EQ(found[1'003], 1);
  EXPECT_EQ(table_looks(""), Looks{});
  EXPECT_EQ(table_looks("\x1bLua no chunk at all \xff\xff\xff"), Looks{});
  lua_close(lua);
}

TEST(LargeTables, KnowTheLargestThatIsLeft) {
  LargeTables tables;
  const std::array<char, 5> at{};
  EXPECT_EQ(tables.most(), 0U);
  EXPECT_TRUE(tables.add(&at[0], 64));
  EXPECT_FALSE(tables.add(&at[1], 64));
  EXPECT_TRUE(tables.add(&at[2], 1024));
  EXPECT_FALSE(tables.add(&at[3], 128));
  EXPECT_EQ(tables.most(), 1024U);
  tables.remove(&at[4]);
  tables.remove(&at[2]);
  EXPECT_EQ(tables.most(), 128U);
  tables.remove(&at[3]);
  tables.remove(&at[0]);
  EXPECT_EQ(tables.most(), 64U);
  tables.remove(&at[1]);
  tables.remove(&at[1]);
  EXPECT_EQ(tables.most(), 0U);
}

// A policy that drops tables pays nothing for it. By ratio of CPU times: a walk over all others at
// each drop would take some thousand times as long beside the many.
TEST(LargeTables, OneOfTheLargestGoesAsFastBesideManyOthersOfItsSize) {
  const auto cpu_beside = [](std::size_t others) {
    constexpr int kDropped = 5'000;
    const std::vector<char> at(others + 1);
    LargeTables tables;
    for (std::size_t i = 0; i < others; ++i) tables.add(&at[i], 64);
    const std::clock_t before = std::clock();
    for (int i = 0; i < kDropped; ++i) {
      tables.add(&at[others], 64);
      tables.remove(&at[others]);
    }
    EXPECT_EQ(tables.most(), 64U);
    return static_cast<double>(1 + std::clock() - before);
  };
  EXPECT_LT(cpu_beside(50'000), 100 * cpu_beside(5));
}

// What an honest policy writes stays cheap.
TEST(Sandbox, ATextInQuotesIsNoNumberThatBecomesOne) {
  EXPECT_LT(steps_of("local s = 'waited ' .. i"), 60'000);
  EXPECT_LT(steps_of("local s = 'a' .. 'b'"), 6'000);
  EXPECT_LT(steps_of("for j = 1, #t do end", "t = {1, 2, 3}"), 12'000);
}

TEST(LineCosts, AreThoseOfOperatorsOutsideOfTextsAndComments) {
  using Costs = std::vector<LineCost>;
  EXPECT_EQ(line_costs("return x + 1"), Costs{});
  EXPECT_EQ(line_costs("return x .. y"), (Costs{{80, 0}}));
  EXPECT_EQ(line_costs("-- x .. y\nreturn 'a .. b', \"c\\\" .. d\", [[e .. f]] --[==[ g .. h ]==]"),
            Costs{});
  EXPECT_EQ(line_costs("x = [[\n]]\r\ny = 'a\\\nb'\n\rf(...)\nreturn y .. z"),
            (Costs{{}, {}, {}, {}, {}, {80, 0}}));
  EXPECT_EQ(line_costs("return 'a' .. x .. [[b]]"), (Costs{{80, 0}}));
  EXPECT_EQ(line_costs("return f'a' .. x"), (Costs{{80, 0}}));
  EXPECT_EQ(line_costs("return 'a' .. f'b'"), (Costs{{40, 0}}));
  EXPECT_EQ(line_costs("return x ..\ny .. z"), (Costs{{160, 0}, {160, 0}}));
  EXPECT_EQ(line_costs("s = s .. x\nt = t .. x"), (Costs{{80, 0}, {80, 0}}));
  EXPECT_EQ(line_costs("for i = 1, 10 do end for i = #t, 1, -1 do end for k, v in f() do end"),
            Costs{});
  EXPECT_EQ(line_costs("for i = 1, n\ndo end"), (Costs{{}, {0, 20}}));
  EXPECT_EQ(line_costs("while a == b do for i = '1', 2 do end end"), (Costs{{0, 20}}));
}

// Whoever names a job at length must not make somebody else's policy dear.
TEST(Sandbox, ATextOfANameIsNotLongEnoughToMakeStepsDear) {
  const std::string name = "name = ('x'):rep(900)";
  EXPECT_LT(steps_of("local y = name == i", name), 5'000);
  EXPECT_GT(steps_of("for j = name, 1 do end", "name = ('1'):rep(1000)"), 150'000);
}

TEST(Pattern, TakesABoundedNumberOfSteps) {
  std::int64_t steps = 10'000;
  EXPECT_THROW(find_pattern(std::string(1000, 'a'), ".-.-.-.-b", 0, steps), PatternError);
  EXPECT_LT(steps, 0);
}

}  // namespace
}  // namespace holon::policy
