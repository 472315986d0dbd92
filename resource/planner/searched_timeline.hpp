// searched_timeline.hpp - a Timeline that remembers what was searched for in vain, for a plan of
// which the same is asked again and again.
//
// Where many wait in line, nearly every search for an earlier place fails, over the same crowded
// stretch. What is remembered is a fact about the levels: no window of `length` ticks within `cap`
// begins in [none.begin, none.end). It holds for every longer window and every lower cap too, and
// spans that are added cannot make it wrong. A span that is removed can: from then on it is
// doubtful whether one begins so near to the gap that it touches it, and only there is searched
// again, when somebody asks.
//
// Answers are those of the Timeline. Not thread-safe: a question may add to what is remembered. P
// is the number of points in the complexities below; the number of facts is bounded.
#pragma once
#include <optional>
#include <vector>

#include "resource/planner/timeline.hpp"

namespace holon::resource {

class SearchedTimeline {
 public:
  /// In a plan of fewer points than `few_points` a search costs less than remembering it.
  explicit SearchedTimeline(std::size_t few_points = 8192) : few_points_(few_points) {}

  /// Like Timeline::add(). O(log P).
  void add(Interval when, Amount amount) { plan_.add(when, amount); }

  /// Like Timeline::remove(). O(log P).
  void remove(Interval when, Amount amount);

  /// Like Timeline::move_end(). O(log P).
  void move_end(Interval when, Amount amount, Time end);

  /// Like Timeline::earliest_window(). O(1) where a fact says that there is none.
  std::optional<Time> earliest_window(const WindowQuery& query);

  /// The timeline for all other questions.
  const Timeline& plan() const { return plan_; }

 private:
  struct Fact {
    Amount cap = 0;
    Duration length = 0;
    Interval none;   // no window begins here ...
    Interval doubt;  // ... but perhaps here

    bool covers(const WindowQuery& query) const {
      return query.cap <= cap && query.length >= length && none.begin <= query.from;
    }
    bool says_less_than(const Fact& other) const {
      return cap <= other.cap && length >= other.length && none.begin >= other.none.begin &&
             none.end <= other.none.end;
    }
    Time sure_until() const { return doubt.empty() ? none.end : std::min(doubt.begin, none.end); }
  };

  void doubt_around(Interval gap);
  Fact* doubtful(const WindowQuery& query, Time latest);
  void settle(Fact& fact, Time from);
  void remember(const Fact& fact);

  static constexpr std::size_t kMostFacts = 64;
  // The windows a search must pass to be worth remembering: a shorter one is repeated as quickly.
  static constexpr Duration kShort = 16;

  std::size_t few_points_;
  Timeline plan_;
  std::vector<Fact> facts_;  // those of use lately towards the front
};

}  // namespace holon::resource
