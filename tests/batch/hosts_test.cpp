#include "batch/hosts.hpp"

#include <gtest/gtest.h>

namespace holon::batch {
namespace {

using Names = std::vector<std::string>;
using Counts = std::vector<std::uint64_t>;

TEST(HostExpressions, AreExpandedInOrder) {
  EXPECT_EQ(expand_hosts("n[1-3]").value(), (Names{"n1", "n2", "n3"}));
  EXPECT_EQ(expand_hosts("login,n[8-10,2],x9").value(),
            (Names{"login", "n8", "n9", "n10", "n2", "x9"}));
  EXPECT_EQ(expand_hosts("n[001-003,10]-ib").value(),
            (Names{"n001-ib", "n002-ib", "n003-ib", "n10-ib"}));
  EXPECT_EQ(expand_hosts("").value(), Names{});
}

TEST(HostExpressions, HaveSeveralBracketsTheRightmostOfWhichCountsFastest) {
  EXPECT_EQ(expand_hosts("r[1-2]n[0-1]").value(), (Names{"r1n0", "r1n1", "r2n0", "r2n1"}));
  EXPECT_EQ(expand_hosts("tux[0-1][08-09]").value(),
            (Names{"tux008", "tux009", "tux108", "tux109"}));
}

TEST(HostExpressions, HaveBracketsInBrackets) {
  EXPECT_EQ(expand_hosts("n[1-2,3[0-1],a[7,9]]x").value(),
            (Names{"n1x", "n2x", "n30x", "n31x", "na7x", "na9x"}));
}

TEST(HostExpressions, ThatAreWrongSayWhere) {
  for (const auto& [text, where] : {std::pair{"a,,b", "character 3"},
                                    {"a,", "character 3"},
                                    {"n[1-3", "character 6"},
                                    {"n1]", "character 3"},
                                    {"n[3-1]", "character 3"},
                                    {"n[1,x]", "character 5"},
                                    {"n[]", "character 3"}}) {
    const auto hosts = expand_hosts(text);
    ASSERT_FALSE(hosts) << text;
    EXPECT_EQ(hosts.error().where, where) << text << ": " << hosts.error().what;
  }
}

// A few characters must not cost gigabytes.
TEST(HostExpressions, OfMoreThanAMillionNodesAreRefused) {
  for (const char* text : {"n[0-99999999]", "n[0-9999][0-9999]", "n[0-18446744073709551615]",
                           "[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]"})
    EXPECT_FALSE(expand_hosts(text)) << text;
  EXPECT_FALSE(expand_counts("4(x18446744073709551615)"));
  EXPECT_FALSE(expand_counts("4(x999999),4(x999999)"));
}

TEST(Counts, HaveRepetitions) {
  EXPECT_EQ(expand_counts("4(x2),2").value(), (Counts{4, 4, 2}));
  EXPECT_EQ(expand_counts("16").value(), Counts{16});
  EXPECT_EQ(expand_counts("").value(), Counts{});
  for (const char* text : {"4(x2", "4(2)", "x", "4,,2", "4(x)"})
    EXPECT_FALSE(expand_counts(text)) << text;
}

TEST(NodeFiles, CountTheLinesOfEachNode) {
  EXPECT_EQ(count_lines("b\nb\n\n a \nb\n"), (std::vector<Node>{{"b", 3}, {"a", 1}}));
}

TEST(NodeFiles, HavePairsOfNamesAndSlots) {
  EXPECT_EQ(read_pairs("hostA 4 hostB 2 hostA 1", 2).value(),
            (std::vector<Node>{{"hostA", 5}, {"hostB", 2}}));
  EXPECT_EQ(read_pairs("n1 2 all.q@n1 UNDEFINED\nn2 1 all.q@n2 <NULL>\n", 4).value(),
            (std::vector<Node>{{"n1", 2}, {"n2", 1}}));
  EXPECT_FALSE(read_pairs("hostA", 2));
  EXPECT_FALSE(read_pairs("hostA four", 2));
}

TEST(HostNames, AreTheSameWithAndWithoutTheirDomain) {
  EXPECT_TRUE(is_same_host("n1", "n1.site.org"));
  EXPECT_TRUE(is_same_host("n1.site.org", "n1.site.org"));
  EXPECT_FALSE(is_same_host("n1.a.org", "n1.b.org"));
  EXPECT_FALSE(is_same_host("n1", "n10.site.org"));
  EXPECT_FALSE(is_same_host("", "n1"));
}

}  // namespace
}  // namespace holon::batch
