// The division of resources among the children of a tree, against a brute force.
#include "instance/shape/division.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace holon::instance {
namespace {

using resource::Amount;
using ::testing::HasSubstr;

// "3a 2a+1b": three cores of the first node; two of it and one of the second. "[ab]": whole nodes.
std::string drawing(const std::vector<Slice>& slices) {
  std::string text;
  for (const Slice& slice : slices) {
    std::string one;
    for (const Share& share : slice.shares) {
      if (!slice.whole && !one.empty()) one += "+";
      if (!slice.whole) one += std::to_string(share.cores);
      one += static_cast<char>('a' + share.node);
      if (!slice.whole && share.gpus > 0) one += "*" + std::to_string(share.gpus);
    }
    text += (text.empty() ? "" : " ") + (slice.whole ? "[" + one + "]" : one);
  }
  return text;
}

std::vector<NodeAmounts> nodes(const std::vector<Amount>& cores, Amount gpus = 0) {
  std::vector<NodeAmounts> made;
  for (const Amount n : cores) made.push_back({"n" + std::to_string(made.size()), n, gpus, 0});
  return made;
}

std::string divided(const std::vector<NodeAmounts>& all, std::uint32_t parts) {
  const auto made = divide(all, parts);
  return made ? drawing(*made) : made.error().what;
}

TEST(Division, IsOfWholeNodesWhereThereAreEnough) {
  EXPECT_EQ(divided(nodes({8, 8, 8, 8}), 4), "[a] [b] [c] [d]");
  EXPECT_EQ(divided(nodes({8, 8, 8, 8, 8}), 2), "[abc] [de]");
  EXPECT_EQ(divided(nodes({1, 8}), 2), "[a] [b]");
  EXPECT_EQ(divided(nodes({8}), 1), "[a]");
}

TEST(Division, IsOfCoresOfOneNodeElse) {
  EXPECT_EQ(divided(nodes({10}), 4), "3a 3a 2a 2a");
  EXPECT_EQ(divided(nodes({4, 4}), 4), "2a 2a 2b 2b");
  EXPECT_EQ(divided(nodes({4, 2}), 3), "2a 2a 2b");
  EXPECT_EQ(divided(nodes({10, 10}), 6), "4a 3a 3a 4b 3b 3b");
}

TEST(Division, TakesWhatIsLeftOfSeveralNodesWhereNoneHasEnough) {
  EXPECT_EQ(divided(nodes({8, 8, 8}), 4), "6a 6b 6c 2a+2b+2c");
  EXPECT_EQ(divided(nodes({8, 8}), 3), "6a 5b 2a+3b");
}

TEST(Division, DealsGpusInProportionToTheCores) {
  EXPECT_EQ(divided(nodes({8}, 2), 2), "4a*1 4a*1");
  EXPECT_EQ(divided(nodes({8}, 2), 4), "2a*1 2a*1 2a 2a");
  EXPECT_EQ(divided(nodes({10}, 5), 4), "3a*2 3a*1 2a*1 2a*1");
  EXPECT_EQ(divided(nodes({8, 8, 8}, 4), 4), "6a*3 6b*3 6c*3 2a*1+2b*1+2c*1");
  // Two cores with one GPU and three with two are not made of equal slots.
  EXPECT_EQ(divided(nodes({8, 8}, 4), 3), "6a*4 5b*4 2a+3b");
}

TEST(Division, OfTooFewCoresIsRefusedWithTheNumbers) {
  EXPECT_EQ(divided(nodes({3}), 4), "3 cores of 1 node cannot be divided among 4");
  const auto leaves = check_division(nodes({10}), {4, 4});
  ASSERT_FALSE(leaves);
  EXPECT_EQ(leaves.error().where, "--tree 4x4");
  EXPECT_EQ(leaves.error().what,
            "16 leaves are too many: child 1 would have 3 cores of 1 node, to be divided among 4");
  const auto uneven = check_division(nodes({1, 8, 8, 8}), {4, 2, 2});
  ASSERT_FALSE(uneven);
  EXPECT_THAT(uneven.error().what, HasSubstr("child 1 would have 1 core of 1 node"));
  const auto deep = check_division(nodes({9}), {2, 2, 3});
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().what, HasSubstr("child 1.2 would have 2 cores of 1 node"));
  EXPECT_TRUE(check_division(nodes({16}), {4, 4}));
  EXPECT_TRUE(check_division(nodes({4, 4, 4, 4}), {2, 2, 4}));
}

// The most parts that can have all their cores on one node, by looking at all ways to fill each.
std::size_t most_on_one_node(const std::vector<NodeAmounts>& all, std::size_t node, Amount small,
                             std::size_t larges, std::size_t smalls) {
  if (node == all.size()) return 0;
  std::size_t most = 0;
  for (std::size_t l = 0; l <= larges; ++l)
    for (std::size_t s = 0; s <= smalls; ++s) {
      if (static_cast<Amount>(l) * (small + 1) + static_cast<Amount>(s) * small > all[node].cores)
        break;
      most = std::max(most, l + s + most_on_one_node(all, node + 1, small, larges - l, smalls - s));
    }
  return most;
}

// Each share is within one unit of its part in the node's units.
void expect_proportion(Amount part, Amount all, Amount cores, Amount of, const std::string& what) {
  EXPECT_LE(part * of, all * cores + of) << what;
  EXPECT_GE(part * of, all * cores - of) << what;
}

void check_all(const std::vector<NodeAmounts>& all, std::uint32_t parts) {
  const auto made = divide(all, parts);
  ASSERT_TRUE(made) << made.error().what;
  ASSERT_EQ(made->size(), parts);
  std::map<std::size_t, NodeAmounts> used;
  std::map<std::size_t, bool> has_taker, has_alone;
  bool all_share = true, all_alone = true;  // no part of several nodes goes without
  for (const Slice& slice : *made)
    for (const Share& share : slice.shares) {
      const bool is_alone = slice.whole || slice.shares.size() == 1;
      has_alone[share.node] = has_alone[share.node] || is_alone;
      has_taker[share.node] = has_taker[share.node] || is_alone || share.gpus > 0;
      all_alone = all_alone && is_alone;
      all_share = all_share && (is_alone || share.gpus > 0 || all[share.node].gpus == 0);
    }
  Amount least = INT64_MAX, most = 0;
  std::size_t on_one = 0;
  for (const Slice& slice : *made) {
    ASSERT_FALSE(slice.shares.empty());
    EXPECT_TRUE(slice.whole || slots_of(slice).count > 0);
    Amount cores = 0;
    for (const Share& share : slice.shares) {
      const NodeAmounts& node = all.at(share.node);
      EXPECT_GT(share.cores, 0);
      if (all_share) expect_proportion(share.gpus, node.gpus, share.cores, node.cores, "gpus");
      if (all_alone)
        expect_proportion(share.memory, node.memory, share.cores, node.cores, "memory");
      used[share.node].cores += share.cores;
      used[share.node].gpus += share.gpus;
      used[share.node].memory += share.memory;
      cores += share.cores;
    }
    const Amount size = slice.whole ? static_cast<Amount>(slice.shares.size()) : cores;
    least = std::min(least, size);
    most = std::max(most, size);
    on_one += slice.shares.size() == 1;
  }
  EXPECT_LE(most - least, 1);
  for (std::size_t n = 0; n < all.size(); ++n) {
    EXPECT_EQ(used[n].cores, all[n].cores) << "node " << n;
    EXPECT_EQ(used[n].gpus, has_taker[n] ? all[n].gpus : 0) << "node " << n;
    EXPECT_EQ(used[n].memory, has_alone[n] ? all[n].memory : 0) << "node " << n;
  }
  if (made->front().whole) return;
  Amount cores = 0;
  for (const auto& node : all) cores += node.cores;
  const auto larges = static_cast<std::size_t>(cores % parts);
  EXPECT_EQ(on_one, most_on_one_node(all, 0, cores / parts, larges, parts - larges));
}

TEST(Division, UsesEachUnitOnceInEqualPartsOfAsFewNodesAsPossible) {
  std::mt19937 random(7);  // NOLINT: the same each time
  const auto up_to = [&random](int most) {
    return static_cast<Amount>(random() % static_cast<unsigned>(most + 1));
  };
  for (int round = 0; round < 200 && !::testing::Test::HasFailure(); ++round) {
    std::vector<NodeAmounts> all;
    Amount cores = 0;
    for (Amount n = 1 + up_to(3); n > 0; --n) {
      all.push_back({"n", 1 + up_to(8), up_to(5), up_to(20)});
      cores += all.back().cores;
    }
    for (std::uint32_t parts = 1; parts <= static_cast<std::uint32_t>(cores); ++parts) {
      check_all(all, parts);
      if (!::testing::Test::HasFailure()) continue;
      std::string what;
      for (const auto& node : all)
        what += std::to_string(node.cores) + "/" + std::to_string(node.gpus) + " ";
      FAIL() << "round " << round << ": " << parts << " parts of " << what << "are "
             << divided(all, parts);
    }
  }
}

TEST(TreeShape, IsReadAndWritten) {
  for (const char* const word : {"1", "8", "4x4", "2x3x4"}) {
    const auto shape = parse_tree_shape(word);
    ASSERT_TRUE(shape) << word;
    EXPECT_EQ(to_text(*shape), word);
  }
  EXPECT_EQ(leaves_of({2, 3, 4}), 24U);
  EXPECT_EQ(below({2, 3, 4}), (TreeShape{3, 4}));
  for (const char* const word :
       {"", "0", "4x", "x4", "4x0", "4X4", "-1", "4x4 ", "101x100", "1x1x1x1x1x1x1x1x1"}) {
    const auto shape = parse_tree_shape(word);
    ASSERT_FALSE(shape) << word;
    EXPECT_EQ(shape.error().where, std::string("--tree ") + word);
    EXPECT_THAT(shape.error().what, HasSubstr("8, 4x4 and 2x3x4"));
  }
}

TEST(TreeShape, HasLevelsThatAreConfigured) {
  const auto read = parse_level_conf("2:queue.policy=easy", {4, 4});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->level, 2U);
  EXPECT_EQ(read->item, "queue.policy=easy");
  const auto beyond = parse_level_conf("3:queue.policy=easy", {4, 4});
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().what, HasSubstr("--tree 4x4 has no level 3"));
  EXPECT_THAT(beyond.error().what, HasSubstr("to 2, the leaves"));
  for (const char* const word : {"", "1", "1:", "queue.policy=easy", "x:queue.policy=easy"})
    EXPECT_FALSE(parse_level_conf(word, {4, 4})) << word;
  EXPECT_FALSE(parse_level_conf("1:queue.policy=easy", {})) << "without a tree";
}

}  // namespace
}  // namespace holon::instance
