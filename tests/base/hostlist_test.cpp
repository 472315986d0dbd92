#include "base/hostlist.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace holon {
namespace {

using Hosts = std::vector<std::string>;

TEST(Hostlist, ReadsBracketsInOrder) {
  EXPECT_EQ(Hostlist::parse("b,a[1-2,9],c[08-10]x,b").value().hosts(),
            (Hosts{"b", "a1", "a2", "a9", "c08x", "c09x", "c10x", "b"}));
  EXPECT_EQ(Hostlist::parse("[1-3]").value().hosts(), (Hosts{"1", "2", "3"}));
  EXPECT_EQ(Hostlist::parse("n[00-2]").value().hosts(), (Hosts{"n00", "n01", "n02"}));
  EXPECT_TRUE(Hostlist::parse("").value().empty());
}

TEST(Hostlist, WritesNeighboursShort) {
  for (const auto& [hosts, text] : {std::pair{Hosts{"node0", "node1", "node3"}, "node[0-1,3]"},
                                    {Hosts{"node1"}, "node1"},
                                    {Hosts{"node9", "node10"}, "node[9-10]"},
                                    {Hosts{"n08", "n09", "n10"}, "n[08-10]"},
                                    {Hosts{"n1", "n01"}, "n1,n01"},
                                    {Hosts{"a1", "b2", "a2"}, "a1,b2,a2"},
                                    {Hosts{"fluke", "fluke"}, "fluke,fluke"},
                                    {Hosts{"node1", "node0"}, "node[1,0]"}}) {
    Hostlist list;
    for (const auto& host : hosts) list.append(host);
    EXPECT_EQ(list.str(), text);
    EXPECT_EQ(list.hosts(), hosts) << text;
  }
}

TEST(Hostlist, SaysWhereATextIsWrong) {
  for (const auto& [text, where] : {std::pair{"a,,b", "character 3"},
                                    {"a,", "character 3"},
                                    {"n[1", "character 1"},
                                    {"n1]", "character 1"},
                                    {"n[1-]", "character 3"},
                                    {"n[2-1]", "character 3"},
                                    {"n[1,x]", "character 5"},
                                    {"n[1]m[2]", "character 5"},
                                    {"n[]", "character 3"}}) {
    const auto list = Hostlist::parse(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().where, where) << text;
  }
}

TEST(Hostlist, FindsWithoutSpellingOut) {
  const auto list = Hostlist::parse("x,node[0-4000000000],gpu[01-16]-ib").value();
  EXPECT_EQ(list.find("node7"), 8U);
  EXPECT_FALSE(list.contains("node07"));
  EXPECT_FALSE(list.contains("node"));
  EXPECT_TRUE(list.contains("gpu09-ib"));
  EXPECT_FALSE(list.contains("gpu9-ib"));
  EXPECT_FALSE(list.contains("gpu17-ib"));
  EXPECT_EQ(list.at(1 + 4000000000), "node4000000000");
}

// Whoever bounds the count before spelling the names out must not be told a small one.
TEST(Hostlist, ACountThatFitsNoIntegerIsTheLargest) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text +=
        (i == 0 ? "" : ",") + std::string(1, static_cast<char>('a' + i)) + "[0-999999999999999999]";
  EXPECT_EQ(Hostlist::parse(text).value().count(), UINT64_MAX);
}

RC_GTEST_PROP(Hostlist, WritesWhatItReads, ()) {
  const auto host =
      rc::gen::map(rc::gen::tuple(rc::gen::element<std::string>("n", "node", "a1b", ""),
                                  rc::gen::inRange(0, 30), rc::gen::inRange(0, 4)),
                   [](const auto& parts) {
                     std::string digits = std::to_string(std::get<1>(parts));
                     const auto width = static_cast<std::size_t>(std::get<2>(parts));
                     if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
                     return std::get<0>(parts) + digits;
                   });
  const auto hosts = *rc::gen::container<std::vector<std::string>>(host);
  Hostlist list;
  for (const auto& h : hosts) list.append(h);
  const auto again = Hostlist::parse(list.str());
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->hosts() == hosts);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    RC_ASSERT(list.at(i) == hosts[i]);
    RC_ASSERT(hosts[*list.find(hosts[i])] == hosts[i]);
  }
}

}  // namespace
}  // namespace holon
