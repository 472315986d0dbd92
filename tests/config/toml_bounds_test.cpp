// What would take the stack of whoever reads it is refused before.
#include "config/toml_bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/config.hpp"

namespace holon::config {
namespace {

using ::testing::HasSubstr;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TomlBounds, WhatPeopleWriteIsTaken) {
  const std::string text = R"toml(
# a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u
[queues.night.pools]
x = "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22.23.24.25.26.27.28.29.30.31.32.33.34"
'a.b' = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16.5,
  1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16.5, 17.5]
t = {a = {b = {c = [[1], [2]]}}}
long = """
one. two. three. [[[[[[[[[[[ "quoted" \""" ... ................................................"""
raw = '''
c:\\............................................'''
)toml";
  EXPECT_TRUE(check_toml(text, "file"));
}

TEST(TomlBounds, WhatNestsWithoutEndIsRefusedWithItsPlace) {
  for (const std::string& deep :
       {repeated("a.", 200'000) + "a = 1", "[" + repeated("a.", 200'000) + "a]",
        "x = {" + repeated("a.", 200'000) + "a = 1}", "x = " + repeated("[", 200'000),
        repeated("a = {", 200'000), "\"a\"" + repeated(".\"a\"", 200'000) + " = 1"}) {
    const auto refused = check_toml("# first\n\n" + deep + "\n", "site.toml");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "site.toml:3");
    EXPECT_FALSE(load_config({"job.grace=" + deep})) << "nor is it read as a value";
  }
  EXPECT_THAT(check_toml(repeated("a.", 40) + "a = 1", "f").error().what, HasSubstr("32 parts"));
  EXPECT_THAT(check_toml("a = " + repeated("[", 70), "f").error().what, HasSubstr("64 levels"));
}

}  // namespace
}  // namespace holon::config
