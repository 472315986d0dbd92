#include "base/piecemeal.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holon::tests {
namespace {

// How many pieces a calculation of so many steps is, and how many of them were done in each.
std::vector<std::size_t> pieces_of(std::size_t steps) {
  std::size_t done = 0;
  std::vector<std::size_t> pieces;
  Piecemeal work([&] {
    for (; done < steps; ++done) may_pause();
  });
  for (bool more = true; more;) {
    const std::size_t before = done;
    more = work.go_on();
    pieces.push_back(done - before);
  }
  return pieces;
}

TEST(Piecemeal, PiecesAreOfEqualNumbersOfSteps) {
  constexpr std::size_t kAll = 10 * Piecemeal::kSteps;
  const auto pieces = pieces_of(kAll);
  std::size_t sum = 0;
  for (const std::size_t piece : pieces) {
    EXPECT_LE(piece, Piecemeal::kSteps);
    sum += piece;
  }
  EXPECT_EQ(sum, kAll);
  EXPECT_GE(pieces.size(), 10u);
  EXPECT_EQ(pieces, pieces_of(kAll)) << "not on time, but on steps alone";
  EXPECT_EQ(pieces_of(0).size(), 1u);
}

TEST(Piecemeal, NothingIsDoneBetweenPieces) {
  std::size_t done = 0;
  Piecemeal work([&done] {
    for (; done < 3 * Piecemeal::kSteps; ++done) may_pause();
  });
  EXPECT_EQ(done, 0u);
  ASSERT_TRUE(work.go_on());
  const std::size_t first = done;
  for (int i = 0; i < 20; ++i) std::this_thread::yield();
  EXPECT_EQ(done, first);
  EXPECT_GT(first, 0u);
}

TEST(Piecemeal, WhatIsAbandonedLeavesNothingBehind) {
  const auto held = std::make_shared<int>();
  bool went_on = false;
  {
    Piecemeal work([held, &went_on] {
      const auto inner = held;
      may_pause(Piecemeal::kSteps);
      went_on = true;
    });
    EXPECT_TRUE(work.go_on());
    EXPECT_GT(held.use_count(), 1);
    const Piecemeal never_begun([held] { FAIL(); });
  }
  EXPECT_FALSE(went_on);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Piecemeal, WhatIsThrownArrives) {
  Piecemeal work([] {
    may_pause(Piecemeal::kSteps);
    throw std::runtime_error("no");
  });
  EXPECT_TRUE(work.go_on());
  EXPECT_THROW(work.go_on(), std::runtime_error);
  EXPECT_FALSE(work.go_on());
}

TEST(Piecemeal, ElsewhereAPauseIsNone) {
  may_pause(100 * Piecemeal::kSteps);
  Piecemeal outer([] {
    Piecemeal inner([] { may_pause(Piecemeal::kSteps); });
    while (inner.go_on()) may_pause(Piecemeal::kSteps);
  });
  int pieces = 1;
  while (outer.go_on()) ++pieces;
  EXPECT_EQ(pieces, 2) << "the inner one's steps are not the outer one's";
}

}  // namespace
}  // namespace holon::tests
