// The words of --requires: lists of hosts, of ranks and of properties, and what rules them out.
#include "cli/options/constraints.hpp"

#include <gtest/gtest.h>

namespace holon::cli {
namespace {

// "and(not(host:a) host:b)"
std::string drawn(const resource::Constraint& constraint) {
  std::string text = constraint.op;
  std::string inside;
  for (const auto& value : constraint.values) inside += (inside.empty() ? "" : " ") + value;
  for (const auto& operand : constraint.operands)
    inside += (inside.empty() ? "" : " ") + drawn(operand);
  return text + "(" + inside + ")";
}

std::string read_as(const std::string& words) {
  const auto made = parse_constraint_words(words);
  return made ? drawn(*made) : made.error().what;
}

TEST(Constraints, EachPartOfAListThatIsRuledOutIsRuledOut) {
  EXPECT_EQ(read_as("-host:a,-host:b"), "and(not(hostlist(a)) not(hostlist(b)))");
  EXPECT_EQ(read_as("-host:a,b"), "not(hostlist(a,b))");
  EXPECT_EQ(read_as("-host:n[1-2,4],-rank:7"), "and(not(hostlist(n[1-2,4])) not(ranks(7)))");
  EXPECT_EQ(read_as("-rank:0,-rank:2-3"), "and(not(ranks(0)) not(ranks(2-3)))");
  EXPECT_EQ(read_as("fast,-gpu"), "and(properties(fast) not(properties(gpu)))");
  EXPECT_EQ(read_as("-fast,-gpu"), "and(not(properties(fast)) not(properties(gpu)))");
  EXPECT_EQ(read_as("fast,-host:a"), "and(properties(fast) not(hostlist(a)))");
  EXPECT_EQ(read_as("host:a,b,-host:b"), "and(hostlist(a,b) not(hostlist(b)))");
}

TEST(Constraints, AListStaysTogether) {
  EXPECT_EQ(read_as("host:a,host:b"), "hostlist(a,b)");
  EXPECT_EQ(read_as("hosts:a,b"), "hostlist(a,b)");
  EXPECT_EQ(read_as("rank:0-3,7"), "ranks(0-3,7)");
  EXPECT_EQ(read_as("rank:0,rank:2"), "ranks(0,2)");
  EXPECT_EQ(read_as("fast,big"), "properties(fast big)");
  EXPECT_EQ(read_as("fast,^big"), "properties(fast ^big)");
  EXPECT_EQ(read_as("host:a,rank:1"), "and(hostlist(a) ranks(1))");
  EXPECT_EQ(read_as("fast and not host:a,b"), "and(properties(fast) not(hostlist(a,b)))");
}

TEST(Constraints, EmptyPartsAreRefused) {
  for (const char* words : {"-host:,-host:b", "fast,", ",", "-", "host:", "fast,-"})
    EXPECT_FALSE(parse_constraint_words(words)) << words;
}

}  // namespace
}  // namespace holon::cli
