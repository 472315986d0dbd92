// Planner scenarios: the ten cores of the planner's documentation, its edges and its outcomes.
// A drawing has a column per tick and a row per unit; a letter is the span that holds the unit.
#include <gtest/gtest.h>

#include <string>

#include "resource/planner/planner.hpp"

namespace holon::resource {
namespace {

constexpr Time kEnd = 20;

Planner ten_cores(Interval horizon = {0, kEnd}) {
  return *Planner::create(10, horizon, "core");
}

// Every point from `from` on that a cursor gives.
std::vector<Time> points(const Planner& planner, Amount want, Duration duration, Time from) {
  std::vector<Time> found;
  auto cursor = planner.points_that_fit(want, duration, from);
  while (auto at = cursor->next(planner)) found.push_back(*at);
  return found;
}

TEST(PlannerScenario, TenCoresOfTheDocumentation) {
  Planner planner = ten_cores();
  const Time t1 = 3, t2 = 6, t3 = 9;
  ASSERT_TRUE(planner.add(5, {t1, t2}));
  ASSERT_TRUE(planner.add(3, {t2, t3}));
  EXPECT_EQ(points(planner, 7, 2, t1), (std::vector<Time>{t2, t3}));
  EXPECT_EQ(points(planner, 5, 2, t1), (std::vector<Time>{t1, t2, t3}));
  EXPECT_EQ(points(planner, 10, 3, 0), (std::vector<Time>{0, t3}));
  EXPECT_EQ(points(planner, 10, 4, 0), (std::vector<Time>{t3}));
  EXPECT_EQ(planner.free_at(t2 - 1), 5);
  EXPECT_EQ(planner.free_at(t2), 7);
  EXPECT_EQ(planner.free_during({0, t3}), 5);
  planner.check_invariants();
}

}  // namespace
}  // namespace holon::resource
