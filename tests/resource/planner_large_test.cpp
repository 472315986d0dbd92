// Plans large enough to split, merge and deepen the tree, against units counted per tick.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "resource/planner/planner.hpp"

namespace holon::resource {
namespace {

constexpr Time kManyTicks = 3000;
constexpr Amount kTotal = 64;

struct HeldSpan {
  SpanId id;
  Span span;
};

class Plan {
 public:
  explicit Plan(std::uint32_t seed) : random_(seed), used_(kManyTicks, 0) {}

  Time below(Time bound) {
    return static_cast<Time>(random_() % static_cast<std::uint64_t>(bound));
  }

  Amount most_used(Interval when) const {
    return *std::max_element(used_.begin() + when.begin, used_.begin() + when.end);
  }
  std::optional<Time> earliest_fit(Amount want, Duration duration, Time from) const {
    Duration run = 0;
    for (Time t = from; t < kManyTicks; ++t) {
      run = used_[static_cast<std::size_t>(t)] + want <= kTotal ? run + 1 : 0;
      if (run == duration) return t + 1 - duration;
    }
    return std::nullopt;
  }

  void add() {
    const Time begin = below(kManyTicks - 1);
    const Time longest =
        below(20) == 0 ? kManyTicks - begin : std::min<Time>(kManyTicks - begin, 40);
    const Span span{below(6), {begin, begin + 1 + below(longest)}};
    const bool possible = most_used(span.when) + span.amount <= kTotal;
    const auto id = planner_.add(span.amount, span.when);
    ASSERT_EQ(id.has_value(), possible);
    if (!id) return;
    occupy(span.when, span.amount);
    held_.push_back({*id, span});
  }
  void change() {
    if (held_.empty()) return;
    auto& [id, span] = held_[static_cast<std::size_t>(below(static_cast<Time>(held_.size())))];
    if (below(3) == 0) {
      const Amount less = below(span.amount + 1);
      ASSERT_EQ(*planner_.reduce(id, less), span.amount - less);
      occupy(span.when, -less);
      if ((span.amount -= less) == 0) forget(id);
    } else {
      const Time end = std::min(kManyTicks, span.when.begin + 1 + below(60));
      const bool possible =
          end <= span.when.end || span.amount + most_used({span.when.end, end}) <= kTotal;
      ASSERT_EQ(planner_.set_end(id, end).has_value(), possible);
      if (!possible) return;
      occupy(span.when, -span.amount);
      span.when.end = end;
      occupy(span.when, span.amount);
    }
  }
  void remove() {
    if (held_.empty()) return;
    const auto held = held_[static_cast<std::size_t>(below(static_cast<Time>(held_.size())))];
    ASSERT_TRUE(planner_.remove(held.id));
    ASSERT_FALSE(planner_.remove(held.id));
    occupy(held.span.when, -held.span.amount);
    forget(held.id);
  }
  void compare() {
    const Time begin = below(kManyTicks);
    const Interval when{begin, begin + 1 + below(kManyTicks - begin)};
    ASSERT_EQ(planner_.free_during(when), kTotal - most_used(when));
    ASSERT_EQ(planner_.free_at(begin), kTotal - used_[static_cast<std::size_t>(begin)]);
    const Amount want = 1 + below(kTotal);
    const Duration duration = 1 + below(below(2) == 0 ? 12 : 400);
    ASSERT_EQ(*planner_.earliest_fit(want, duration, begin), earliest_fit(want, duration, begin))
        << want << " units for " << duration << " from " << begin;
  }
  const Planner& planner() const { return planner_; }
  std::size_t held() const { return held_.size(); }

 private:
  void occupy(Interval when, Amount amount) {
    for (Time t = when.begin; t < when.end; ++t) used_[static_cast<std::size_t>(t)] += amount;
  }
  void forget(SpanId id) {
    std::erase_if(held_, [id](const HeldSpan& held) { return held.id == id; });
  }

  std::mt19937 random_;
  std::vector<Amount> used_;
  std::vector<HeldSpan> held_;
  Planner planner_ = *Planner::create(kTotal, {0, kManyTicks});
};

// Three tides: the plan fills up and drains, so that the tree grows, shrinks and grows on what is
// left.
RC_GTEST_PROP(PlannerLarge, AgreesWithUnitsCountedPerTick, ()) {
  Plan plan(*rc::gen::arbitrary<std::uint32_t>());
  for (int step = 0; step < 3000; ++step) {
    const bool rising = step / 500 % 2 == 0;
    const auto kind = plan.below(10);
    if (kind < (rising ? 7 : 1))
      plan.add();
    else if (kind < 8)
      plan.remove();
    else
      plan.change();
    plan.compare();
    if (step % 100 == 0) plan.planner().check_invariants();
    RC_ASSERT(!testing::Test::HasFatalFailure());
  }
  plan.planner().check_invariants();
  const Planner twin = plan.planner();
  RC_ASSERT(twin == plan.planner());
}

// The earliest start by a walk over all changes of the level, in order.
Time swept_fit(const std::map<Time, Amount>& changes, Amount cap, Duration duration, Time from) {
  Amount level = 0;
  Time since = from;
  for (const auto& [time, change] : changes) {
    const bool open = level <= cap;
    if (open && time > from && time - since >= duration) return since;
    level += change;
    if (level <= cap && !open) since = std::max(from, time);
  }
  return since;
}

// Deep enough for nodes of nodes of nodes, and crowded enough for the searches to have something to
// skip.
TEST(PlannerLarge, SearchesAgreeWithASweepOverFortyThousandPoints) {
  std::mt19937 random(1);
  const auto below = [&](Time bound) {
    return static_cast<Time>(random() % static_cast<std::uint64_t>(bound));
  };
  Planner planner = *Planner::create(kTotal, {0, kTimeMax});
  std::map<Time, Amount> changes;
  std::vector<SpanId> ids;
  const auto hold = [&](const Span& span, Amount sign) {
    changes[span.when.begin] += sign * span.amount;
    changes[span.when.end] -= sign * span.amount;
  };
  for (int i = 0; i < 20'000; ++i) {
    const Span job{1 + below(Time{1} << below(7)), {0, 1 + below(4'000)}};
    const Time from = below(4) == 0 ? below(4'000'000) : 0;
    const Time start = **planner.earliest_fit(job.amount, job.when.end, from);
    if (i % 50 == 0) {
      ASSERT_EQ(start, swept_fit(changes, kTotal - job.amount, job.when.end, from)) << "job " << i;
    }
    const Span held{job.amount, {start, start + job.when.end}};
    ids.push_back(*planner.add(held.amount, held.when));
    hold(held, 1);
    if (below(4) > 0) continue;
    std::swap(ids[static_cast<std::size_t>(below(static_cast<Time>(ids.size())))], ids.back());
    hold(*planner.find(ids.back()), -1);
    ASSERT_TRUE(planner.remove(ids.back()));
    ids.pop_back();
  }
  planner.check_invariants();
}

TEST(PlannerLarge, GivesItsMemoryBackWhenTheLastSpansGo) {
  Planner planner = *Planner::create(kTotal, {0, kTimeMax});
  const std::size_t idle = planner.memory();
  EXPECT_EQ(idle, 0U);
  std::vector<SpanId> ids;
  for (Time t = 0; t < 10'000; ++t) ids.push_back(*planner.add(1, {t, t + 20}));
  EXPECT_LT(planner.memory() / ids.size(), 150U);
  for (const SpanId id : ids) ASSERT_TRUE(planner.remove(id));
  EXPECT_EQ(planner.point_count(), 0U);
  planner.check_invariants();
}

}  // namespace
}  // namespace holon::resource
