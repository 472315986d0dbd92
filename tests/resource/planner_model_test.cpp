// Planner against a model that is too simple to be wrong: a table of the spans, and the units in
// use counted per tick. Random operations, good and bad ones, each followed by a comparison and
// check_invariants().
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "resource/planner/planner.hpp"

namespace holon::resource {
namespace {

constexpr Time kFirst = -3;  // the model's ticks, wider than any horizon used below
constexpr Time kLast = 40;

// `kTimeMax` behaves as "after the last tick" in the model.
struct Model {
  Amount total = 0;
  Interval horizon;
  std::map<SpanId, Span> spans;

  Amount used_at(Time t) const {
    Amount used = 0;
    for (const auto& [id, span] : spans) used += span.when.contains(t) ? span.amount : 0;
    return used;
  }
  Amount free_at(Time t) const {
    return horizon.contains(t) ? std::max<Amount>(0, total - used_at(t)) : 0;
  }
  bool within(Interval when) const {
    return when.begin < when.end && horizon.begin <= when.begin && when.end <= horizon.end;
  }
  Amount free_during(Interval when) const {
    if (!within(when)) return 0;
    Amount least = total;
    for (Time t = when.begin; t < std::min(when.end, kLast); ++t)
      least = std::min(least, free_at(t));
    return least;
  }
  bool is_point(Time t) const {
    return t == horizon.begin || std::any_of(spans.begin(), spans.end(), [t](const auto& entry) {
             return entry.second.when.begin == t || entry.second.when.end == t;
           });
  }
  bool starts(Amount want, Duration duration, Time t) const {
    const Interval when{t, saturating_add(t, duration)};
    return within(when) && free_during(when) >= want;
  }
  std::optional<Time> earliest_fit(Amount want, Duration duration, Time from) const {
    for (Time t = std::max(from, kFirst); t < kLast; ++t) {
      if (starts(want, duration, t)) return t;
    }
    return std::nullopt;
  }
  std::vector<Time> points_that_fit(Amount want, Duration duration, Time from) const {
    std::vector<Time> found;
    for (Time t = std::max(from, kFirst); t < kLast; ++t) {
      if (is_point(t) && starts(want, duration, t)) found.push_back(t);
    }
    return found;
  }
};

struct Pair {
  Planner planner;
  Model model;
};

Time some_time() {
  return *rc::gen::inRange<Time>(-2, 36);
}

Time some_end() {
  return *rc::gen::inRange(0, 8) == 0 ? kTimeMax : some_time();
}

Interval some_horizon() {
  const Time begin = *rc::gen::inRange<Time>(-2, 12);
  const bool endless = *rc::gen::inRange(0, 4) == 0;
  return {begin, endless ? kTimeMax : begin + *rc::gen::inRange<Time>(1, 24)};
}

Duration some_duration() {
  return *rc::gen::inRange(0, 8) == 0 ? kTimeMax : *rc::gen::inRange<Duration>(1, 15);
}

SpanId some_span(const Model& model) {
  if (model.spans.empty() || *rc::gen::inRange(0, 10) == 0)
    return SpanId{*rc::gen::inRange<std::uint64_t>(0, 50)};
  const auto nth = *rc::gen::inRange<std::size_t>(0, model.spans.size());
  return std::next(model.spans.begin(), static_cast<std::ptrdiff_t>(nth))->first;
}

void add(Pair& pair) {
  const Span span{*rc::gen::inRange<Amount>(-1, 8), {some_time(), some_end()}};
  const bool possible = span.amount >= 0 && pair.model.within(span.when) &&
                        span.amount <= pair.model.free_during(span.when);
  const auto id = pair.planner.add(span.amount, span.when);
  RC_ASSERT(id.has_value() == possible);
  if (!id) return;
  RC_ASSERT(pair.model.spans.count(*id) == 0U);
  pair.model.spans[*id] = span;
}

void remove(Pair& pair) {
  const SpanId id = some_span(pair.model);
  RC_ASSERT(pair.planner.remove(id).has_value() == (pair.model.spans.erase(id) == 1));
}

void reduce(Pair& pair) {
  const SpanId id = some_span(pair.model);
  const Amount less = *rc::gen::inRange<Amount>(-1, 8);
  const auto span = pair.model.spans.find(id);
  const auto left = pair.planner.reduce(id, less);
  if (span == pair.model.spans.end()) {
    RC_ASSERT(left.error().code == Errc::not_found);
  } else if (less < 0 || less > span->second.amount) {
    RC_ASSERT(left.error().code == Errc::invalid_argument);
  } else {
    RC_ASSERT(*left == span->second.amount - less);
    span->second.amount -= less;
    if (*left == 0) pair.model.spans.erase(span);
  }
}

void set_end(Pair& pair) {
  const SpanId id = some_span(pair.model);
  const Time end = some_end();
  const auto span = pair.model.spans.find(id);
  const Status moved = pair.planner.set_end(id, end);
  if (span == pair.model.spans.end()) {
    RC_ASSERT(moved.error().code == Errc::not_found);
    return;
  }
  Span& held = span->second;
  bool possible = end > held.when.begin;
  if (possible && end > held.when.end) {
    possible = end <= pair.model.horizon.end;
    for (Time t = held.when.end; t < std::min(end, kLast); ++t)
      possible &= std::max<Amount>(0, pair.model.total - pair.model.used_at(t)) >= held.amount;
  }
  RC_ASSERT(moved.has_value() == possible);
  if (possible) held.when.end = end;
}

void update_total(Pair& pair) {
  const Amount total = *rc::gen::inRange<Amount>(-1, 13);
  RC_ASSERT(pair.planner.update_total(total).has_value() == (total >= 0));
  if (total >= 0) pair.model.total = total;
}

void set_horizon(Pair& pair) {
  const Interval horizon = some_horizon();
  RC_ASSERT(pair.planner.set_horizon(horizon).has_value());
  pair.model.horizon = horizon;
}

void copy(Pair& pair) {
  const Planner twin = pair.planner;
  RC_ASSERT(twin == pair.planner);
  const auto id = pair.planner.add(1, pair.model.horizon);
  RC_ASSERT((twin == pair.planner) == !id.has_value());
  pair.planner = twin;
}

void reset(Pair& pair) {
  const Interval horizon = some_horizon();
  RC_ASSERT(pair.planner.reset(horizon).has_value());
  pair.model.horizon = horizon;
  pair.model.spans.clear();
}

void step(Pair& pair) {
  const int kind = *rc::gen::weightedElement<int>(
      {{20, 0}, {6, 1}, {5, 2}, {6, 3}, {3, 4}, {1, 5}, {1, 6}, {1, 7}});
  switch (kind) {
    case 0:
      return add(pair);
    case 1:
      return remove(pair);
    case 2:
      return reduce(pair);
    case 3:
      return set_end(pair);
    case 4:
      return update_total(pair);
    case 5:
      return set_horizon(pair);
    case 6:
      return copy(pair);
    default:
      return *rc::gen::inRange(0, 8) == 0 ? reset(pair) : add(pair);
  }
}

void compare_spans(const Pair& pair) {
  RC_ASSERT(pair.planner.span_count() == pair.model.spans.size());
  std::map<SpanId, Span> seen;
  for (auto id = pair.planner.first_span(); id; id = pair.planner.next_span(*id))
    seen[*id] = *pair.planner.find(*id);
  RC_ASSERT(seen == pair.model.spans);
}

void compare_questions(const Pair& pair) {
  const Planner& planner = pair.planner;
  const Model& model = pair.model;
  for (Time t = kFirst; t < kLast; ++t) RC_ASSERT(planner.free_at(t) == model.free_at(t));
  const Interval when{some_time(), some_end()};
  const Amount want = *rc::gen::inRange<Amount>(0, 10);
  RC_ASSERT(planner.free_during(when) == model.free_during(when));
  RC_ASSERT(planner.fits(want, when) == (model.within(when) && want <= model.free_during(when)));

  const Time from = some_time();
  const Duration duration = some_duration();
  const auto start = planner.earliest_fit(want, duration, from);
  auto cursor = planner.points_that_fit(want, duration, from);
  RC_ASSERT(start.has_value() == (want <= model.total));
  RC_ASSERT(cursor.has_value() == start.has_value());
  if (!start) return;
  RC_ASSERT(*start == model.earliest_fit(want, duration, from));
  std::vector<Time> points;
  while (const auto point = cursor->next(planner)) points.push_back(*point);
  RC_ASSERT(points == model.points_that_fit(want, duration, from));
}

RC_GTEST_PROP(PlannerModel, AgreesWithUnitsCountedPerTick, ()) {
  const Interval horizon = some_horizon();
  const Amount total = *rc::gen::inRange<Amount>(0, 12);
  Pair pair{*Planner::create(total, horizon, "core"), {total, horizon, {}}};
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    step(pair);
    pair.planner.check_invariants();
    compare_spans(pair);
    compare_questions(pair);
  }
}

}  // namespace
}  // namespace holon::resource
