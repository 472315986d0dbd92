// Planner scenarios: the ten cores of the planner's documentation, its edges and its outcomes.
// A drawing has a column per tick and a row per unit; a letter is the span that holds the unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "resource/planner/planner.hpp"
#include "resource/planner/timeline.hpp"

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

// Which span holds which of the ten cores when, lowest core first that is free all through the
// span; '.' is free.
std::string drawing(const Planner& planner) {
  std::vector<std::string> rows(10, std::string(kEnd, '.'));
  char letter = 'A';
  for (auto id = planner.first_span(); id; id = planner.next_span(*id), ++letter) {
    const Span span = *planner.find(*id);
    Amount left = span.amount;
    for (std::string& row : rows) {
      const auto begin = row.begin() + span.when.begin;
      const auto end = row.begin() + span.when.end;
      if (left == 0 || std::any_of(begin, end, [](char unit) { return unit != '.'; })) continue;
      std::fill(begin, end, letter);
      --left;
    }
  }
  std::string out = "\n";
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) out += "|" + *row + "|\n";
  return out;
}

TEST(PlannerScenario, EachRequestGoesWhereTheCalendarHasRoom) {
  Planner planner = ten_cores();
  const auto put = [&](Amount cores, Duration duration, Time not_before) {
    const Time start = **planner.earliest_fit(cores, duration, not_before);
    ASSERT_TRUE(planner.add(cores, {start, start + duration}));
  };
  put(5, 6, 2);   // A
  put(8, 3, 2);   // B: not beside A
  put(3, 5, 0);   // C: beside A, at once
  put(10, 2, 0);  // D: the first hole for all ten is after B
  put(2, 4, 3);   // E: `not before` is itself a start
  EXPECT_EQ(drawing(planner), R"(
|...EEEE....DD.......|
|...EEEE....DD.......|
|CCCCC...BBBDD.......|
|CCCCC...BBBDD.......|
|CCCCC...BBBDD.......|
|..AAAAAABBBDD.......|
|..AAAAAABBBDD.......|
|..AAAAAABBBDD.......|
|..AAAAAABBBDD.......|
|..AAAAAABBBDD.......|
)");
}

TEST(PlannerScenario, AnIdlePlannerHasRoomNowEvenBetweenPoints) {
  const Planner planner = ten_cores();
  EXPECT_TRUE(planner.fits(10, {5, 9}));
  EXPECT_EQ(*planner.earliest_fit(10, 4, 5), 5);
  // The seed's search knows points only, and the base time is the only one.
  EXPECT_EQ(points(planner, 10, 4, 5), std::vector<Time>{});
  EXPECT_EQ(points(planner, 10, 4, 0), std::vector<Time>{0});
}

TEST(PlannerScenario, ACursorGoesOnThroughAChangedPlan) {
  Planner planner = ten_cores();
  const SpanId first = *planner.add(10, {0, 4});
  ASSERT_TRUE(planner.add(1, {8, 10}));
  auto cursor = *planner.points_that_fit(9, 1, 0);
  EXPECT_EQ(cursor.next(planner), 4);
  ASSERT_TRUE(planner.add(10, {8, 9}).error().code == Errc::overcommitted);
  ASSERT_TRUE(planner.remove(first));
  ASSERT_TRUE(planner.add(2, {6, 7}));
  EXPECT_EQ(cursor.next(planner), 7);  // 6 has 8 free
  EXPECT_EQ(cursor.next(planner), 8);
  EXPECT_EQ(cursor.next(planner), 10);
  EXPECT_EQ(cursor.next(planner), std::nullopt);
  EXPECT_EQ(cursor.next(planner), std::nullopt);
}

TEST(PlannerScenario, APlanEndsWithItsHorizon) {
  Planner planner = ten_cores({5, 15});
  EXPECT_EQ(planner.base_time(), 5);
  EXPECT_EQ(planner.duration(), 10);
  EXPECT_EQ(*planner.earliest_fit(1, 10, 0), 5);
  EXPECT_EQ(*planner.earliest_fit(1, 10, 6), std::nullopt);
  EXPECT_EQ(*planner.earliest_fit(1, 11, 0), std::nullopt);
  EXPECT_EQ(planner.free_at(15), 0);
  EXPECT_EQ(planner.free_at(4), 0);
  EXPECT_EQ(planner.add(1, {4, 6}).error().code, Errc::out_of_range);
  EXPECT_EQ(planner.add(1, {14, 16}).error().code, Errc::out_of_range);
  EXPECT_EQ(planner.add(1, {9, 9}).error().code, Errc::invalid_argument);
  EXPECT_EQ(planner.memory(), ten_cores({5, 15}).memory());  // what fails leaves nothing behind
  EXPECT_FALSE(Planner::create(1, {3, 3}).has_value());
  EXPECT_FALSE(Planner::create(-1, {3, 4}).has_value());
}

TEST(PlannerScenario, AnInfiniteJobNeverLetsGo) {
  Planner planner = ten_cores({0, kTimeMax});
  EXPECT_EQ(*planner.earliest_fit(10, kTimeMax, 7), 7);
  const SpanId forever = *planner.add(4, {100, kTimeMax});
  EXPECT_EQ(*planner.earliest_fit(7, 100, 50), std::nullopt);
  EXPECT_EQ(*planner.earliest_fit(7, 50, 50), 50);
  EXPECT_EQ(planner.free_at(kTimeMax - 1), 6);
  ASSERT_TRUE(planner.set_end(forever, 200));
  EXPECT_EQ(*planner.earliest_fit(7, kTimeMax, 50), 200);
  ASSERT_TRUE(planner.set_end(forever, kTimeMax));
  planner.check_invariants();
}

TEST(PlannerScenario, FewerUnitsThanAreHeldFreeNothingUntilTheDebtIsPaid) {
  Planner planner = ten_cores();
  const SpanId six = *planner.add(6, {0, 10});
  ASSERT_TRUE(planner.add(2, {0, 5}));
  ASSERT_TRUE(planner.update_total(4));
  EXPECT_EQ(planner.span_count(), 2U);
  EXPECT_EQ(planner.free_at(0), 0);
  EXPECT_EQ(planner.add(1, {0, 5}).error().code, Errc::overcommitted);
  EXPECT_EQ(planner.earliest_fit(5, 1, 0).error().code, Errc::unsatisfiable);
  EXPECT_EQ(*planner.earliest_fit(1, 1, 0), 10);
  EXPECT_EQ(*planner.reduce(six, 3), 3);  // 3 + 2 held of 4 until 5, then 3
  EXPECT_EQ(planner.free_at(0), 0);
  EXPECT_EQ(*planner.earliest_fit(1, 1, 0), 5);
  ASSERT_TRUE(planner.update_total(10));
  EXPECT_EQ(planner.free_at(0), 5);
  planner.check_invariants();
}

TEST(PlannerScenario, AReducedSpanIsGoneWhenNothingIsLeft) {
  Planner planner = ten_cores();
  const SpanId id = *planner.add(3, {2, 4});
  EXPECT_EQ(*planner.reduce(id, 1), 2);
  EXPECT_EQ(planner.find(id), (Span{2, {2, 4}}));
  EXPECT_EQ(planner.reduce(id, 3).error().code, Errc::invalid_argument);
  EXPECT_EQ(*planner.reduce(id, 2), 0);
  EXPECT_FALSE(planner.contains(id));
  EXPECT_EQ(planner.remove(id).error().code, Errc::not_found);
  const SpanId next = *planner.add(1, {2, 4});
  EXPECT_NE(next, id);  // the slot is used again, the number is not
  EXPECT_FALSE(planner.contains(id));
}

TEST(PlannerScenario, APointStaysWhileASpanEndsOnIt) {
  Planner planner = ten_cores();
  const SpanId before = *planner.add(4, {0, 5});
  ASSERT_TRUE(planner.add(4, {5, 9}));  // the level does not change at 5, yet 5 is a point
  EXPECT_EQ(points(planner, 6, 1, 1), (std::vector<Time>{5, 9}));
  ASSERT_TRUE(planner.remove(before));
  EXPECT_EQ(points(planner, 6, 1, 1), (std::vector<Time>{5, 9}));
  EXPECT_EQ(planner.point_count(), 2U);
}

TEST(PlannerScenario, AVertexThatIsIdleCostsFourWords) {
  EXPECT_LE(sizeof(Planner), 32U);
  EXPECT_EQ(Planner::create(10, {0, kEnd})->memory(), 0U);
  EXPECT_EQ(sizeof(Timeline), sizeof(void*));
}

}  // namespace
}  // namespace holon::resource
