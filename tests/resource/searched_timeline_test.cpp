// What is remembered of earlier searches changes no answer: against a Timeline that remembers
// nothing, while spans come and go and time goes on.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "resource/planner/searched_timeline.hpp"

namespace holon::resource {
namespace {

constexpr Amount kUnits = 16;

struct Held {
  Interval when;
  Amount amount = 0;
};

class SearchedTimelineTest : public testing::TestWithParam<unsigned> {
 protected:
  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  // More often small than large.
  Amount draw_amount() { return draw(1, draw(1, kUnits)); }

  WindowQuery draw_query() {
    const Duration length = draw(1, draw(1, 60));
    const bool bounded = draw(0, 3) > 0;
    const Time from = now_ + (draw(0, 9) == 0 ? draw(0, 300) : 0);
    return {from, bounded ? from + draw(0, 4000) : kTimeMax, draw(0, 20) == 0 ? kTimeMax : length,
            kUnits - draw_amount()};
  }
  // Where a planner would put it, so that the plan is crowded.
  void add() {
    const Amount amount = draw_amount();
    const Duration length = draw(1, draw(1, 60));
    const auto begin = searched_.earliest_window({now_, kTimeMax, length, kUnits - amount});
    ASSERT_TRUE(begin);
    held_.push_back({{*begin, *begin + length}, amount});
    searched_.add(held_.back().when, amount);
    plain_.add(held_.back().when, amount);
  }
  void remove_one() {
    std::swap(held_[static_cast<std::size_t>(draw(0, std::ssize(held_) - 1))], held_.back());
    searched_.remove(held_.back().when, held_.back().amount);
    plain_.remove(held_.back().when, held_.back().amount);
    held_.pop_back();
  }
  void end_one_sooner() {
    Held& held = held_[static_cast<std::size_t>(draw(0, std::ssize(held_) - 1))];
    const Time end = held.when.begin + draw(1, held.when.length());
    searched_.move_end(held.when, held.amount, end);
    plain_.move_end(held.when, held.amount, end);
    held.when.end = end;
  }

  std::mt19937 random_{GetParam()};
  Time now_ = 0;
  SearchedTimeline searched_{0};
  Timeline plain_;
  std::vector<Held> held_;
};

TEST_P(SearchedTimelineTest, AnswersAsATimelineDoes) {
  for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(add());
  for (int i = 0; i < 2000; ++i) {
    const auto what = draw(0, 9);
    if (what == 0) remove_one();
    if (what == 1) end_one_sooner();
    if (what == 2 || held_.size() < 200) {
      ASSERT_NO_FATAL_FAILURE(add());
    }
    if (what == 3) now_ += draw(0, 3);
    for (int k = 0; k < 4; ++k) {
      const WindowQuery query = draw_query();
      ASSERT_EQ(searched_.earliest_window(query), plain_.earliest_window(query))
          << "step " << i << ", now " << now_ << ": " << query.length << " ticks of at most "
          << query.cap << " in [" << query.from << ", " << query.end << ")";
    }
  }
  EXPECT_EQ(searched_.plan(), plain_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SearchedTimelineTest, testing::Range(0U, 40U));

// Against the levels, tick by tick.
TEST(TimelineStretches, AreThoseOfTheLevels) {
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int run = 0; run < 40; ++run) {
    Timeline plan;
    for (int spans = run * 8; spans > 0; --spans) {
      const Time begin = draw(10, 500);
      plan.add({begin, begin + draw(1, 80)}, draw(1, 5));
    }
    for (int i = 0; i < 200; ++i) {
      const Time begin = draw(0, 600), end = begin + draw(1, 100);
      Amount least = plan.used_at(begin);
      for (Time t = begin; t < end; ++t) least = std::min(least, plan.used_at(t));
      ASSERT_EQ(plan.min_used({begin, end}), least) << begin << " to " << end;
      const Amount cap = draw(0, 40);
      Time since = end;
      while (since > begin && plan.used_at(since - 1) <= cap) --since;
      ASSERT_EQ(plan.within_since(end, begin, cap).value_or(end), since)
          << begin << " to " << end << " within " << cap;
    }
  }
}

}  // namespace
}  // namespace holon::resource
