// planner.hpp - who holds how much of one resource pool, when.
//
// A *span* holds `amount` units over the half-open interval [begin, end). A *point* is a time at
// which a span begins or ends; the beginning of the horizon counts as one. P is the number of
// points, P <= 2 * spans + 1. Amounts are whole units of the pool (cores, GiB, licences); times are
// ticks on the caller's clock. A span or a window that would pass kTimeMax ends there: "no end".
//
// Outside the horizon nothing is free. Where more is held than there is (after update_total
// downwards) nothing is free either; the spans stay, and what they give back first pays off what is
// missing.
//
// A pure value: no clock, no I/O, no globals. Copy it to ask "what if" (O(P)). Const calls change
// nothing, so they may run concurrently; a walk over points is a PointCursor that the caller holds.
// A Planner without a span and without a type name owns nothing on the heap. Whatever fails leaves
// the planner as it was.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"  // Amount

namespace holon::resource {

using SpanId =
    Strong<struct SpanIdTag, std::uint64_t>;  // unique within a planner's life; 0 is no span

struct Span {
  Amount amount = 0;
  Interval when;

  bool operator==(const Span&) const = default;
};

class Planner;

// Walks the points at which a request could start: the seed's avail_time_first (the first next())
// and avail_time_next (the others). It holds the request and a time, no reference into the planner:
// spans may come and go in between.
class PointCursor {
 public:
  /// The next point, base time or start or end of a span, from which `want` units are free for the
  /// whole duration. nullopt: no further one within the horizon. Cost as Planner::earliest_fit.
  std::optional<Time> next(const Planner& planner);

 private:
  friend class Planner;
  PointCursor(Amount want, Duration duration, Time from)
      : want_(want), duration_(duration), from_(from) {}
  Amount want_;
  Duration duration_;
  std::optional<Time> from_;  // nullopt: past the end of time
};

class Planner {
 public:
  /// A planner with no units and an empty horizon: nothing fits until it is assigned to or reset.
  Planner();
  /// A plan in which all `total` units are free over `horizon`. `type` is a name for people and
  /// formats. Errors: invalid_argument if total < 0 or the horizon is empty.
  static Result<Planner> create(Amount total, Interval horizon, std::string type = {});

  Planner(const Planner& other);
  Planner(Planner&& other) noexcept;
  Planner& operator=(const Planner& other);
  Planner& operator=(Planner&& other) noexcept;
  ~Planner();

  /// Equal total, horizon, type and spans under the same ids. O(spans).
  bool operator==(const Planner& other) const;

  /// Drops all spans and takes a new horizon. Errors: invalid_argument if it is empty.
  Status reset(Interval horizon);
  /// Takes a new horizon and keeps all spans, also those that reach outside it. Errors:
  /// invalid_argument if it is empty.
  Status set_horizon(Interval horizon);
  /// Units come or go (elasticity). Spans stay even if they now hold more than there is. O(1).
  /// Errors: invalid_argument if total < 0.
  Status update_total(Amount total);

  Interval horizon() const { return horizon_; }
  Time base_time() const { return horizon_.begin; }
  Duration duration() const;  // kTimeMax if longer than that
  Amount total() const { return total_; }
  std::string_view type() const;

  /// Units free at `t`; 0 outside the horizon. O(log P).
  Amount free_at(Time t) const;
  /// Units free at every instant of `when`; 0 if it is empty or reaches outside the horizon. O(log
  /// P).
  Amount free_during(Interval when) const;
  /// Is `when` a non-empty part of the horizon with `want` (>= 0) units free all through it? O(log
  /// P).
  bool fits(Amount want, Interval when) const;

  /// The earliest t >= not_before with `want` units free over [t, t + duration): `not_before`, the
  /// base time or a point. nullopt: not within the horizon as planned now; ask again after a
  /// release. O(log P) a visited busy stretch; those that are far too short to hold the request are
  /// skipped together. Errors: unsatisfiable if want > total (no release can help),
  /// invalid_argument if want < 0 or duration < 1.
  Result<std::optional<Time>> earliest_fit(Amount want, Duration duration, Time not_before) const;

  /// All points from `on_or_after` on at which the request could start. Errors: as earliest_fit.
  Result<PointCursor> points_that_fit(Amount want, Duration duration, Time on_or_after) const;

  /// Takes `amount` (>= 0) units over `when`. O(log P), however many points lie inside.
  /// Errors: overcommitted, out_of_range if `when` is not within the horizon, invalid_argument if
  /// it is empty or amount < 0.
  Result<SpanId> add(Amount amount, Interval when);
  /// Gives a span back. O(log P). Errors: not_found.
  Status remove(SpanId id);
  /// Gives back part of a span: what it still holds; at 0 it is gone, its id too. O(log P).
  /// Errors: not_found, invalid_argument if amount is < 0 or more than the span holds.
  Result<Amount> reduce(SpanId id, Amount amount);
  /// Moves the end of a span: a job that ends early, overruns, or has a new limit. O(log P).
  /// Errors: not_found, invalid_argument if end <= begin, out_of_range past the horizon,
  /// overcommitted.
  Status set_end(SpanId id, Time end);

  std::size_t span_count() const;
  bool contains(SpanId id) const { return find(id).has_value(); }
  std::optional<Span> find(SpanId id) const;
  /// All spans, one after the other, in no order that means anything; nullopt at the end. A whole
  /// walk is O(the most spans there have been). The planner may change between the calls: spans
  /// that stay are seen once.
  std::optional<SpanId> first_span() const;
  std::optional<SpanId> next_span(SpanId id) const;

  /// Points without the base time, unless a span begins there.
  std::size_t point_count() const;
  /// Bytes held on the heap.
  std::size_t memory() const;

  /// Aborts unless points, levels and spans agree. O(P + spans). Tests call it after every step.
  void check_invariants() const;

 private:
  friend class PointCursor;
  struct State;
  State& state();
  std::optional<Time> search(Amount want, Duration duration, Time from) const;
  Status check_request(Amount want, Duration duration) const;

  Amount total_ = 0;
  Interval horizon_;
  std::unique_ptr<State> state_;  // null: no span, no type
};

}  // namespace holon::resource
