// timeline.cpp - points in a sorted vector, each with the change of the level at it.
#include "resource/planner/timeline.hpp"

#include <algorithm>
#include <cstdint>

#include "base/check.hpp"

namespace holon::resource {

namespace {

struct Point {
  Time time = 0;
  Amount delta = 0;         // level from here on, minus level before
  std::uint32_t marks = 0;  // span ends that lie here

  bool operator==(const Point&) const = default;
};

}  // namespace

struct Timeline::Body {
  std::vector<Point> points;

  bool operator==(const Body&) const = default;

  auto at_or_after(Time t) {
    return std::lower_bound(points.begin(), points.end(), t,
                            [](const Point& point, Time time) { return point.time < time; });
  }
  // The level changes by `delta` from `t` on, and `marks` span ends more (or fewer) lie there.
  void bump(Time t, Amount delta, int marks) {
    auto point = at_or_after(t);
    if (point == points.end() || point->time != t) point = points.insert(point, Point{t, 0, 0});
    point->delta += delta;
    point->marks += static_cast<std::uint32_t>(marks);
    if (point->marks == 0) points.erase(point);
  }
};

Timeline::Timeline() = default;
Timeline::Timeline(const Timeline& other)
    : body_(other.body_ ? std::make_unique<Body>(*other.body_) : nullptr) {}
Timeline::Timeline(Timeline&& other) noexcept = default;
Timeline& Timeline::operator=(const Timeline& other) {
  return *this = Timeline(other);
}
Timeline& Timeline::operator=(Timeline&& other) noexcept = default;
Timeline::~Timeline() = default;

bool Timeline::operator==(const Timeline& other) const {
  if (!body_ || !other.body_) return !body_ && !other.body_;
  return *body_ == *other.body_;
}

std::size_t Timeline::point_count() const {
  return body_ ? body_->points.size() : 0;
}

void Timeline::add(Interval when, Amount amount) {
  if (!body_) body_ = std::make_unique<Body>();
  body_->bump(when.begin, amount, 1);
  body_->bump(when.end, -amount, 1);
}

void Timeline::remove(Interval when, Amount amount) {
  body_->bump(when.begin, -amount, -1);
  body_->bump(when.end, amount, -1);
  if (body_->points.empty()) body_.reset();
}

void Timeline::change(Interval when, Amount change) {
  body_->bump(when.begin, change, 0);
  body_->bump(when.end, -change, 0);
}

void Timeline::move_end(Interval when, Amount amount, Time end) {
  body_->bump(end, -amount, 1);
  body_->bump(when.end, amount, -1);
}

Amount Timeline::used_at(Time t) const {
  Amount level = 0;
  if (!body_) return level;
  for (const Point& point : body_->points) {
    if (point.time > t) break;
    level += point.delta;
  }
  return level;
}

Amount Timeline::max_used(Interval when) const {
  if (!body_ || when.empty()) return 0;
  Amount most = used_at(when.begin);
  Amount level = 0;
  for (const Point& point : body_->points) {
    if (point.time >= when.end) break;
    level += point.delta;
    if (point.time > when.begin) most = std::max(most, level);
  }
  return most;
}

std::optional<Time> Timeline::next_point(Time from) const {
  if (!body_) return std::nullopt;
  const auto point = body_->at_or_after(from);
  if (point == body_->points.end()) return std::nullopt;
  return point->time;
}

std::optional<Time> Timeline::earliest_window(const WindowQuery& query) const {
  const auto fits = [&](Time start) {
    return start < query.end && saturating_add(start, query.length) <= query.end;
  };
  Time start = query.from;  // candidate: nothing above the cap was seen since
  Amount level = 0;
  bool open = query.cap >= 0;
  if (body_) {
    for (const Point& point : body_->points) {
      if (open && saturating_add(start, query.length) <= point.time) break;
      level += point.delta;
      const bool was_open = open;
      open = level <= query.cap;
      if (open && !was_open) start = std::max(point.time, query.from);
    }
  }
  if (!open || !fits(start)) return std::nullopt;
  return start;
}

std::size_t Timeline::memory() const {
  return body_ ? sizeof(Body) + body_->points.capacity() * sizeof(Point) : 0;
}

void Timeline::check_invariants() const {
  if (!body_) return;
  HOLON_CHECK(!body_->points.empty());
  Amount level = 0;
  for (std::size_t i = 0; i < body_->points.size(); ++i) {
    const Point& point = body_->points[i];
    HOLON_CHECK(point.marks > 0);
    HOLON_CHECK(i == 0 || body_->points[i - 1].time < point.time);
    level += point.delta;
    HOLON_CHECK(level >= 0);
  }
  HOLON_CHECK(level == 0);
}

}  // namespace holon::resource
