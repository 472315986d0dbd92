// Who gets and who gives.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "holdings/policy.hpp"

namespace holon::holdings {
namespace {

// One kind of units.
struct Row {
  const char* path;
  std::optional<std::size_t> parent;
  std::int64_t owned, held, wanted;
  std::int64_t floor = 0;
  double weight = 1;
  std::int64_t ceiling = 1'000'000;
};

Tree tree_of(const std::vector<Row>& rows) {
  Tree tree;
  std::int64_t total = 0;
  for (const Row& row : rows) {
    tree.parties.push_back({.path = row.path,
                            .parent = row.parent,
                            .owned = {row.owned},
                            .floor = {row.floor},
                            .ceiling = {row.ceiling},
                            .held = {row.held},
                            .wanted = {row.wanted},
                            .resting = {0},
                            .weight = row.weight});
    total += row.held;
  }
  tree.total = {total};
  return tree;
}

// What everybody holds once all is at rest, and how many units moved.
struct Rest {
  std::vector<std::int64_t> held;
  std::int64_t units_moved = 0;
};
Rest at_rest(Tree tree, Time now = 0) {
  Rest rest;
  for (int i = 0; i < 10'000; ++i) {
    const auto move = next_move(tree, {}, now);
    if (!move) break;
    rest.units_moved += move->amount;
    tree = moved(std::move(tree), *move);
  }
  for (const Party& party : tree.parties) rest.held.push_back(party.held[0]);
  return rest;
}

using Held = std::vector<std::int64_t>;

TEST(Policy, IdleUnitsGoToWhoWantsThem) {
  const Rest rest = at_rest(tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 8, 2}, {"/2", 0, 8, 8, 20}}));
  EXPECT_EQ(rest.held, (Held{0, 2, 14}));
  EXPECT_EQ(rest.units_moved, 6);
}

TEST(Policy, TheFloorIsKeptThoughIdle) {
  const Rest rest =
      at_rest(tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 8, 2, 5}, {"/2", 0, 8, 8, 20}}));
  EXPECT_EQ(rest.held, (Held{0, 5, 11}));
}

TEST(Policy, NobodyHoldsMoreThanTheCeiling) {
  const Rest rest =
      at_rest(tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 8, 0}, {"/2", 0, 8, 8, 20, 0, 1, 10}}));
  EXPECT_EQ(rest.held, (Held{0, 6, 10}));
}

TEST(Policy, AnOwnerThatWakesHasItsOwnBack) {
  const Rest rest =
      at_rest(tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 1, 8}, {"/2", 0, 8, 15, 15}}));
  EXPECT_EQ(rest.held, (Held{0, 8, 8}));
}

TEST(Policy, OwnedIsSafeThoughOthersWaitForLong) {
  const Rest rest =
      at_rest(tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 8, 8}, {"/2", 0, 0, 0, 100}}));
  EXPECT_EQ(rest.held, (Held{0, 8, 0}));
}

TEST(Policy, ExtraIsSharedByWeight) {
  const Rest rest =
      at_rest(tree_of({{"/", {}, 60, 60, 0}, {"/1", 0, 0, 0, 100, 0, 2}, {"/2", 0, 0, 0, 100}}));
  // All at once goes to the first, which gives up until the next unit would not be worth it.
  EXPECT_EQ(rest.held[0], 0);
  EXPECT_NEAR(static_cast<double>(rest.held[1]) / static_cast<double>(rest.held[2]), 2, 0.35);
}

TEST(Policy, SiblingsGiveBeforeOthers) {
  const Tree tree = tree_of({{"/", {}, 0, 0, 0},
                             {"/1", 0, 0, 0, 0},
                             {"/2", 0, 4, 4, 0},
                             {"/1/1", 1, 4, 4, 8},
                             {"/1/2", 1, 4, 4, 0}});
  EXPECT_EQ(givers_for(tree, 3), (std::vector<std::size_t>{1, 4, 0, 2}));
  EXPECT_EQ(next_move(tree, {}, 0), (UnitMove{4, 3, 0, 4, true}));
}

TEST(Policy, TheSharesOfWholeSubtreesCount) {
  // Team /1 has two instances, each with less extra than that of team /2; together they have more.
  const Tree tree = tree_of({{"/", {}, 12, 1, 0},
                             {"/1", 0, 0, 0, 0},
                             {"/2", 0, 0, 5, 6},
                             {"/1/1", 1, 0, 3, 9},
                             {"/1/2", 1, 0, 3, 9}});
  EXPECT_EQ(next_taker(tree, {false, false, true, true, true}), 2u);
}

TEST(Policy, WhoWasRecalledWaitsBeforeItGetsExtraAgain) {
  Tree tree = tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 8, 0}, {"/2", 0, 8, 6, 20}});
  tree.parties[2].extra_from = 100;
  EXPECT_EQ(at_rest(tree, 99).held, (Held{0, 6, 8}));  // its own it has at once
  EXPECT_EQ(at_rest(tree, 100).held, (Held{0, 0, 14}));
  EXPECT_EQ(backoff_after(0, {}), 0);
  EXPECT_EQ(backoff_after(1, {}), 60'000);
  EXPECT_EQ(backoff_after(3, {}), 240'000);
  EXPECT_EQ(backoff_after(99, {}), 3'600'000);
}

TEST(Policy, WhatHasJustMovedRests) {
  Tree tree = tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 8, 4, 8}, {"/2", 0, 4, 8, 8}});
  tree.parties[2].resting = {3};
  EXPECT_EQ(at_rest(tree).held, (Held{0, 5, 7}));
}

TEST(Policy, TheDominantKindCounts) {
  Tree tree = tree_of({{"/", {}, 0, 0, 0}, {"/1", 0, 0, 0, 0}, {"/2", 0, 0, 0, 0}});
  tree.total = {100, 4};  // cores, GPUs
  for (Party& party : tree.parties)
    for (Amounts* amounts :
         {&party.owned, &party.floor, &party.ceiling, &party.held, &party.wanted, &party.resting})
      amounts->resize(2, 0);
  tree.parties[1].held = {40, 0};
  tree.parties[2].held = {10, 2};
  EXPECT_DOUBLE_EQ(share_above_owned(tree, 1), 0.4);
  EXPECT_DOUBLE_EQ(share_above_owned(tree, 2), 0.5);
  EXPECT_EQ(next_taker(tree, {false, true, true}), 1u);
}

TEST(Policy, TermsNest) {
  const Terms top{1000, 60};
  const auto child = nested(top, 10, 0);
  ASSERT_TRUE(child);
  EXPECT_EQ(*child, (Terms{990, 50}));
  EXPECT_EQ(nested(*child, 10, 0), (Terms{980, 40}));
  EXPECT_EQ(nested({kTimeMax, 0}, 10, 0), (Terms{kTimeMax, 0}));
  EXPECT_FALSE(nested({1000, 60}, 10, 990));
}

TEST(Policy, IdleExtraGoesBackAfterAWhile) {
  EXPECT_FALSE(idle_for_too_long(100, 30'099, {}));
  EXPECT_TRUE(idle_for_too_long(100, 30'100, {}));
}

// ---- constant demands

struct RandomTree {
  Tree tree;
  std::int64_t units = 0;
  std::int64_t depth = 1;
};
RandomTree random_tree() {
  RandomTree made;
  std::vector<Row> rows{{"/", {}, 0, 0, 0}};
  std::vector<std::int64_t> depths{1};
  const auto amount = [](int most) { return *rc::gen::inRange<std::int64_t>(0, most); };
  static const char* const kPaths[] = {"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"};
  const auto count = *rc::gen::inRange<std::size_t>(1, 8);
  for (std::size_t i = 0; i < count; ++i) {
    const auto parent = *rc::gen::inRange<std::size_t>(0, rows.size());
    const std::int64_t owned = amount(8);
    rows.push_back({kPaths[i], parent, owned, amount(10), amount(25), amount(4),
                    static_cast<double>(1 + amount(3)), 4 + amount(30)});
    depths.push_back(depths[parent] + 1);
    made.depth = std::max(made.depth, depths.back());
  }
  rows[0].held = amount(10);
  made.tree = tree_of(rows);
  made.units = made.tree.total[0];
  return made;
}

RC_GTEST_PROP(Policy, WithConstantDemandsTheMovesStop, ()) {
  const RandomTree made = random_tree();
  Tree tree = made.tree;
  std::int64_t units_moved = 0;
  while (const auto move = next_move(tree, {}, 0)) {
    RC_ASSERT(move->amount > 0);
    units_moved += move->amount;
    RC_ASSERT(units_moved <= made.units * made.depth);
    tree = moved(std::move(tree), *move);
    for (Party& party : tree.parties) party.resting = {0};  // as if `hold` had passed
  }
}

RC_GTEST_PROP(Policy, AMoveTakesNeitherTheFloorNorWhatIsOwnedAndUsed, ()) {
  Tree tree = random_tree().tree;
  while (const auto move = next_move(tree, {}, 0)) {
    const Party giver = tree.parties[move->giver];
    tree = moved(std::move(tree), *move);
    const Party& after = tree.parties[move->giver];
    const std::int64_t kept = std::min(giver.wanted[0], giver.owned[0]);
    RC_ASSERT(after.held[0] >= std::min(giver.held[0], std::max(giver.floor[0], kept)) ||
              !move->idle);
    RC_ASSERT(move->idle || after.held[0] >= giver.owned[0]);
    RC_ASSERT(tree.parties[move->taker].held[0] <= tree.parties[move->taker].wanted[0]);
  }
}

}  // namespace
}  // namespace holon::holdings
