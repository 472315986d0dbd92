// PlannerMulti against units counted per tick and pool.
#include "resource/planner/planner_multi.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>

namespace holon::resource {
namespace {

constexpr Time kTicks = 30;
constexpr std::size_t kPools = 3;
using Three = std::array<Amount, kPools>;
constexpr Three kTotals{8, 4, 100};

PlannerMulti three_pools() {
  return *PlannerMulti::create({{"core", kTotals[0]}, {"gpu", kTotals[1]}, {"memory", kTotals[2]}},
                               {0, kTicks});
}

struct MultiModel {
  std::map<SpanId, std::pair<Three, Interval>> spans;
  Three totals = kTotals;

  Amount free_at(std::size_t pool, Time t) const {
    Amount free = totals[pool];
    for (const auto& [id, span] : spans) free -= span.second.contains(t) ? span.first[pool] : 0;
    return std::max<Amount>(0, free);
  }
  bool fits(const Three& want, Interval when) const {
    if (when.empty() || when.begin < 0 || when.end > kTicks) return false;
    for (std::size_t pool = 0; pool < kPools; ++pool) {
      for (Time t = when.begin; t < when.end; ++t) {
        if (want[pool] > free_at(pool, t)) return false;
      }
    }
    return true;
  }
  std::optional<Time> earliest_fit(const Three& want, Duration duration, Time from) const {
    for (Time t = from; t < kTicks; ++t) {
      if (fits(want, {t, t + duration})) return t;
    }
    return std::nullopt;
  }
};

Three some_amounts() {
  return {*rc::gen::inRange<Amount>(0, 9), *rc::gen::inRange<Amount>(0, 4),
          *rc::gen::inRange<Amount>(0, 70)};
}

void multi_step(PlannerMulti& planner, MultiModel& model) {
  const auto kind = *rc::gen::inRange(0, 10);
  const Interval when{*rc::gen::inRange<Time>(-1, kTicks), *rc::gen::inRange<Time>(0, kTicks + 2)};
  if (kind < 5 || model.spans.empty()) {
    const Three amounts = some_amounts();
    const auto id = planner.add(amounts, when);
    RC_ASSERT(id.has_value() == model.fits(amounts, when));
    if (id) model.spans[*id] = {amounts, when};
    return;
  }
  const auto nth = *rc::gen::inRange<std::size_t>(0, model.spans.size());
  const auto span = std::next(model.spans.begin(), static_cast<std::ptrdiff_t>(nth));
  auto& [held, interval] = span->second;
  if (kind < 7) {
    RC_ASSERT(planner.remove(span->first).has_value());
    RC_ASSERT(!planner.remove(span->first).has_value());
    model.spans.erase(span);
  } else if (kind < 8) {
    Three less = some_amounts();
    bool possible = true;
    for (std::size_t pool = 0; pool < kPools; ++pool) possible &= less[pool] <= held[pool];
    const auto gone = planner.reduce(span->first, less);
    RC_ASSERT(gone.has_value() == possible);
    if (!possible) return;
    for (std::size_t pool = 0; pool < kPools; ++pool) held[pool] -= less[pool];
    RC_ASSERT(*gone == (held == Three{}));
    if (*gone) model.spans.erase(span);
  } else if (kind < 9) {
    const bool longer = when.end > interval.end;
    const bool possible =
        when.end > interval.begin && (!longer || model.fits(held, {interval.end, when.end}));
    RC_ASSERT(planner.set_end(span->first, when.end).has_value() == possible);
    if (possible) interval.end = when.end;
  } else {
    const auto pool = *rc::gen::inRange<std::size_t>(0, kPools);
    model.totals[pool] = *rc::gen::inRange<Amount>(0, 10);
    RC_ASSERT(planner.update_total(pool, model.totals[pool]).has_value());
  }
}

RC_GTEST_PROP(PlannerMulti, AgreesWithUnitsCountedPerTick, ()) {
  PlannerMulti planner = three_pools();
  MultiModel model;
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    multi_step(planner, model);
    planner.check_invariants();
    RC_ASSERT(planner.span_count() == model.spans.size());
    for (std::size_t pool = 0; pool < kPools; ++pool) {
      for (Time t = -1; t <= kTicks; ++t)
        RC_ASSERT(planner.free_at(pool, t) == (t >= 0 && t < kTicks ? model.free_at(pool, t) : 0));
    }
    const Three want = some_amounts();
    const Duration duration = *rc::gen::inRange<Duration>(1, 12);
    const Time from = *rc::gen::inRange<Time>(0, kTicks);
    const bool ever =
        want[0] <= model.totals[0] && want[1] <= model.totals[1] && want[2] <= model.totals[2];
    const auto start = planner.earliest_fit(want, duration, from);
    RC_ASSERT(start.has_value() == ever);
    if (ever) RC_ASSERT(*start == model.earliest_fit(want, duration, from));
    RC_ASSERT(planner.fits(want, {from, from + duration}) ==
              model.fits(want, {from, from + duration}));
    const PlannerMulti twin = planner;
    RC_ASSERT(twin == planner);
  }
}

TEST(PlannerMulti, AllPoolsOrNone) {
  PlannerMulti planner = three_pools();
  const PlannerMulti before = planner;
  EXPECT_EQ(planner.add(Three{8, 5, 1}, {0, 5}).error().code, Errc::overcommitted);
  EXPECT_EQ(planner.add(Three{8, 4, 1}, {0, kTicks + 1}).error().code, Errc::out_of_range);
  EXPECT_EQ(planner.add(std::array<Amount, 2>{1, 1}, {0, 5}).error().code, Errc::invalid_argument);
  EXPECT_EQ(planner.earliest_fit(Three{9, 0, 0}, 1, 0).error().code, Errc::unsatisfiable);
  EXPECT_TRUE(planner == before);
  EXPECT_EQ(PlannerMulti::create({{"core", 1}, {"core", 2}}, {0, 1}).error().code,
            Errc::invalid_argument);
}

TEST(PlannerMulti, TheJointStartIsLaterThanThatOfEveryPoolAlone) {
  PlannerMulti planner = three_pools();
  ASSERT_TRUE(planner.add(Three{8, 0, 0}, {0, 4}));   // cores free from 4 on, for 4
  ASSERT_TRUE(planner.add(Three{8, 0, 0}, {8, 12}));  // and from 12 on
  ASSERT_TRUE(planner.add(Three{0, 4, 0}, {4, 6}));   // gpus free until 4 and from 6 on
  EXPECT_EQ(*planner.earliest_fit(Three{1, 0, 0}, 3, 0), 4);
  EXPECT_EQ(*planner.earliest_fit(Three{0, 1, 0}, 3, 0), 0);
  EXPECT_EQ(*planner.earliest_fit(Three{1, 1, 0}, 3, 0), 12);
  EXPECT_EQ(*planner.earliest_fit(Three{1, 1, 0}, 2, 0), 6);
}

}  // namespace
}  // namespace holon::resource
