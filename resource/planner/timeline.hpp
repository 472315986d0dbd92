// timeline.hpp - how many units are in use, as a step function of time. The data structure under
// the planners.
//
// A *point* is a time at which a span begins or ends; between two points the level does not change.
// Before the first point the level is 0. A Timeline knows no total, no horizon and no span numbers:
// Planner adds those.
//
// Invariants: points are unique and ordered; each remembers how many span ends lie on it and goes
// with the last one. A Timeline without points is one null pointer. A value: copy, ==, no clock, no
// I/O. Copies share their points until one of them is changed: to copy is O(1), the first change
// after it O(P). Const calls change nothing and may run concurrently. P is the number of points in
// the complexities below.
#pragma once
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <optional>
#include <span>

#include "base/time.hpp"
#include "resource/allocation.hpp"  // Amount

namespace holon::resource {

// A search for room: `length` ticks in which no more than `cap` units are in use, within [from,
// end). A window that would pass kTimeMax is cut there ("no end").
struct WindowQuery {
  Time from = 0;
  Time end = kTimeMax;
  Duration length = 1;  // >= 1
  Amount cap = 0;       // may be negative: nothing qualifies
};

class Timeline {
 public:
  Timeline();
  Timeline(const Timeline& other);
  Timeline(Timeline&& other) noexcept;
  Timeline& operator=(const Timeline& other);
  Timeline& operator=(Timeline&& other) noexcept;
  ~Timeline();
  bool operator==(const Timeline& other) const;

  bool empty() const { return body_ == nullptr; }
  std::size_t point_count() const;

  /// Raises the level by `amount` (>= 0) over `when`. O(log P), however many points lie inside.
  /// REQUIRES `when` is not empty and the level stays representable.
  void add(Interval when, Amount amount);

  /// Undoes an add() of the same interval and amount. O(log P).
  void remove(Interval when, Amount amount);

  /// Turns an add() of (when, amount) into one of (when, amount + change), where both are >= 0.
  /// O(log P).
  void change(Interval when, Amount change);

  /// Turns an add() of (when, amount) into one that ends at `end` > when.begin. O(log P).
  void move_end(Interval when, Amount amount, Time end);

  /// Units in use at the instant `t`. O(log P).
  Amount used_at(Time t) const;

  /// The largest level over `when`; 0 for an empty interval. O(log P).
  Amount max_used(Interval when) const;

  /// The smallest level over `when`; 0 for an empty interval. O(log P).
  Amount min_used(Interval when) const;

  /// The earliest t >= from such that no more than `cap` units are in use over [t, before).
  /// nullopt: more are just before `before`. O(log P). REQUIRES from < before.
  std::optional<Time> within_since(Time before, Time from, Amount cap) const;

  /// The first point at or after `from`; nullopt if there is none. O(log P).
  std::optional<Time> next_point(Time from) const;

  /// The earliest start t >= query.from of the window; t is `from` or a point. nullopt if there is
  /// none. O(log P) plus what the sketches (sketch.hpp) cannot rule out; O(P) at worst.
  std::optional<Time> earliest_window(const WindowQuery& query) const;

  /// Bytes held on the heap.
  std::size_t memory() const;

  /// Aborts unless order, levels and aggregates are right. O(P). For tests.
  void check_invariants() const;

 private:
  struct Body;
  Body& own();

  boost::intrusive_ptr<Body> body_;
};

struct CappedTimeline {
  const Timeline* timeline = nullptr;
  Amount cap = 0;
};

/// The earliest start of a window in every timeline at once, each with its own cap (query.cap is
/// not used). nullopt if there is none. Without timelines: query.from, if the window fits before
/// query.end.
std::optional<Time> earliest_joint_window(std::span<const CappedTimeline> timelines,
                                          const WindowQuery& query);

}  // namespace holon::resource
