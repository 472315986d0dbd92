// planner_multi.hpp - several pools over one horizon, planned together: what a subtree holds of
// each resource type.
//
// Pools are numbered 0, 1, ... in the order given; amounts are written one per pool. A span holds
// all its amounts over one interval, or none of them. A pool of which a span holds nothing is not
// touched by it. Otherwise as Planner: a value, half-open intervals, nothing is free outside the
// horizon, a failed call changes nothing. P is the number of points of the busiest pool, K the
// number of pools.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"  // Amount
#include "resource/planner/planner.hpp"
#include "resource/planner/span_table.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::resource {

using Amounts = std::span<const Amount>;  // one a pool; 0: none of it

class PlannerMulti {
 public:
  struct Pool {
    std::string type;
    Amount total = 0;
  };
  struct Holding {
    std::vector<Amount> amounts;
    Interval when;
    bool operator==(const Holding&) const = default;
  };

  /// No pools and an empty horizon.
  PlannerMulti() = default;
  /// Errors: invalid_argument for a negative total, an empty horizon, or two pools of one type.
  static Result<PlannerMulti> create(std::vector<Pool> pools, Interval horizon);

  /// Equal pools, horizon and spans under the same ids.
  bool operator==(const PlannerMulti& other) const;

  /// Drops all spans and takes a new horizon. Errors: invalid_argument if it is empty.
  Status reset(Interval horizon);
  /// Takes a new horizon and keeps all spans. Errors: invalid_argument if it is empty.
  Status set_horizon(Interval horizon);
  /// Units of one pool come or go; spans stay. Errors: not_found (no such pool), invalid_argument
  /// if total < 0.
  Status update_total(std::size_t pool, Amount total);

  Interval horizon() const { return horizon_; }
  std::size_t pool_count() const { return pools_.size(); }
  std::optional<std::size_t> pool_of(std::string_view type) const;
  /// REQUIRES pool < pool_count(), here and below.
  std::string_view type(std::size_t pool) const { return pools_[pool].type; }
  Amount total(std::size_t pool) const { return pools_[pool].total; }

  /// Units free at an instant, or all through an interval; 0 outside the horizon. O(log P).
  Amount free_at(std::size_t pool, Time t) const;
  Amount free_during(std::size_t pool, Interval when) const;
  /// Is all of `want` free all through `when`? False if `want` has another length than the pools.
  /// O(K log P).
  bool fits(Amounts want, Interval when) const;

  /// The earliest t >= not_before from which all of `want` is free for `duration`: `not_before`,
  /// the base time or a point of a wanted pool. nullopt: not within the horizon as planned now.
  /// Each pool moves the start on to its own next fit until all agree. Errors: unsatisfiable if
  /// more is wanted than there is, invalid_argument for a negative amount, another number of
  /// amounts than pools, or duration < 1.
  Result<std::optional<Time>> earliest_fit(Amounts want, Duration duration, Time not_before) const;

  /// Takes all amounts over `when`. O(K log P). Errors: as Planner::add.
  Result<SpanId> add(Amounts amounts, Interval when);
  /// Gives a span back. O(K log P). Errors: not_found.
  Status remove(SpanId id);
  /// Gives back part of a span. True: nothing is left, the span is gone. O(K log P).
  /// Errors: not_found, invalid_argument for more than the span holds.
  Result<bool> reduce(SpanId id, Amounts amounts);
  /// Moves the end of a span in all pools. O(K log P). Errors: as Planner::set_end.
  Status set_end(SpanId id, Time end);

  std::size_t span_count() const { return spans_.size(); }
  std::optional<Holding> find(SpanId id) const;
  std::optional<SpanId> first_span() const { return spans_.first(); }
  std::optional<SpanId> next_span(SpanId id) const { return spans_.next(id); }

  /// Bytes held on the heap.
  std::size_t memory() const;
  /// Aborts unless points, levels and spans agree. For tests.
  void check_invariants() const;

 private:
  struct Plan {
    std::string type;
    Amount total = 0;
    Timeline used;
  };
  Status check_amounts(Amounts amounts) const;
  Amounts held_by(SpanId id) const;

  Interval horizon_;
  std::vector<Plan> pools_;
  SpanTable spans_;              // `amount` is not used
  std::vector<Amount> amounts_;  // pool_count() a slot of spans_
};

}  // namespace holon::resource
