// timeline.cpp - a Timeline is a PointTree that is not there while it has no points.
#include "resource/planner/timeline.hpp"

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "base/check.hpp"
#include "resource/planner/point_tree.hpp"

namespace holon::resource {

struct Timeline::Body : PointTree, boost::intrusive_ref_counter<Body> {};

Timeline::Timeline() = default;
Timeline::Timeline(const Timeline& other) = default;
Timeline::Timeline(Timeline&& other) noexcept = default;
Timeline& Timeline::operator=(const Timeline& other) = default;
Timeline& Timeline::operator=(Timeline&& other) noexcept = default;
Timeline::~Timeline() = default;

bool Timeline::operator==(const Timeline& other) const {
  if (body_ == other.body_) return true;
  return body_ && other.body_ && *body_ == *other.body_;
}

// The points, not shared, to be changed. REQUIRES: there are some.
Timeline::Body& Timeline::own() {
  if (body_->use_count() > 1) body_ = new Body(*body_);
  return *body_;
}

std::size_t Timeline::point_count() const {
  return body_ ? body_->size() : 0;
}

void Timeline::add(Interval when, Amount amount) {
  if (!body_) body_ = new Body();
  Body& body = own();
  body.bump({when.begin, amount, 1});
  body.bump({when.end, -amount, 1, when.begin});
}

void Timeline::remove(Interval when, Amount amount) {
  Body& body = own();
  body.bump({when.begin, -amount, -1});
  body.bump({when.end, amount, -1});
  if (body.empty()) body_.reset();
}

void Timeline::change(Interval when, Amount change) {
  Body& body = own();
  body.bump({when.begin, change, 0});
  body.bump({when.end, -change, 0});
}

void Timeline::move_end(Interval when, Amount amount, Time end) {
  Body& body = own();
  body.bump({when.end, amount, -1});
  body.bump({end, -amount, 1, end > when.end ? when.end : kTimeMax});
}

Amount Timeline::used_at(Time t) const {
  return body_ ? body_->level_at(t) : 0;
}

Amount Timeline::max_used(Interval when) const {
  return body_ && !when.empty() ? body_->max_level(when) : 0;
}

Amount Timeline::min_used(Interval when) const {
  return body_ && !when.empty() ? body_->min_level(when) : 0;
}

std::optional<Time> Timeline::within_since(Time before, Time from, Amount cap) const {
  if (used_at(before - 1) > cap) return std::nullopt;
  return body_ ? body_->opened_at(before, from, cap) : from;
}

std::optional<Time> Timeline::next_point(Time from) const {
  return body_ ? body_->next_point(from) : std::nullopt;
}

std::optional<Time> Timeline::earliest_window(const WindowQuery& query) const {
  if (body_) return body_->earliest_window(query);
  const bool room = query.cap >= 0 && query.from < query.end &&
                    saturating_add(query.from, query.length) <= query.end;
  return room ? std::optional(query.from) : std::nullopt;
}

std::size_t Timeline::memory() const {
  return body_ ? sizeof(Body) + body_->memory() : 0;
}

void Timeline::check_invariants() const {
  if (!body_) return;
  HOLON_CHECK(!body_->empty());
  body_->check_invariants();
}

std::optional<Time> earliest_joint_window(std::span<const CappedTimeline> timelines,
                                          const WindowQuery& query) {
  if (timelines.empty())
    return Timeline().earliest_window({query.from, query.end, query.length, 0});
  WindowQuery next = query;
  std::size_t agreed = 0;  // timelines in a row that accept next.from
  for (std::size_t i = 0; agreed < timelines.size(); i = (i + 1) % timelines.size()) {
    next.cap = timelines[i].cap;
    const auto start = timelines[i].timeline->earliest_window(next);
    if (!start) return std::nullopt;
    agreed = *start == next.from ? agreed + 1 : 1;
    next.from = *start;
  }
  return next.from;
}

}  // namespace holon::resource
