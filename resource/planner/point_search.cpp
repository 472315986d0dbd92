// point_search.cpp - the questions asked of a PointTree. Each walks down with the level at the left
// edge of the node it is in, so that a child's relative summary tells at once whether it can hold
// an answer.
#include <algorithm>
#include <ranges>

#include "resource/planner/point_tree.hpp"

namespace holon::resource {

Amount PointTree::level_at(Time t) const {
  Amount level = 0;
  Node node = root();
  while (node.height > 0) {
    const Inner& inner = inners_[node.index];
    unsigned slot = 0;
    for (; slot + 1 < inner.count && inner.first[slot + 1] <= t; ++slot) level += inner.sum[slot];
    node = child(inner, node.height, slot);
  }
  for (const Point& point : points_of(node)) {
    if (point.time > t) break;
    level += point.delta;
  }
  return level;
}

Amount PointTree::max_level(Interval when) const {
  const Amount at_begin = level_at(when.begin);
  return std::max(at_begin, max_between(root(), 0, when.begin, when.end));
}

// The largest level at the points in (begin, end); the smallest amount if there is none.
Amount PointTree::max_between(Node node, Amount level, Time begin, Time end) const {
  Amount most = std::numeric_limits<Amount>::min();
  if (node.height == 0) {
    for (const Point& point : points_of(node)) {
      if (point.time >= end) break;
      level += point.delta;
      if (point.time > begin) most = std::max(most, level);
    }
    return most;
  }
  const Inner& inner = inners_[node.index];
  for (unsigned i = 0; i < inner.count && inner.first[i] < end; level += inner.sum[i++]) {
    const bool last = i + 1 == inner.count;
    if (!last && inner.first[i + 1] <= begin) continue;
    // All of the child lies in (begin, end) if the next one still begins before the end.
    const bool whole = !last && inner.first[i] > begin && inner.first[i + 1] <= end;
    const Amount here = whole ? level + inner.most[i]
                              : max_between(child(inner, node.height, i), level, begin, end);
    most = std::max(most, here);
  }
  return most;
}

std::optional<Time> PointTree::next_point(Time from) const {
  std::optional<Time> after;  // the first time right of the path down
  Node node = root();
  while (node.height > 0) {
    const Inner& inner = inners_[node.index];
    unsigned slot = 0;
    while (slot + 1 < inner.count && inner.first[slot + 1] <= from) ++slot;
    if (slot + 1 < inner.count) after = inner.first[slot + 1];
    node = child(inner, node.height, slot);
  }
  for (const Point& point : points_of(node)) {
    if (point.time >= from) return point.time;
  }
  return after;
}

// The first point after `after` from which the level is at most `cap`.
std::optional<Time> PointTree::first_within_cap(Node node, Amount level, Time after,
                                                Amount cap) const {
  if (node.height == 0) {
    for (const Point& point : points_of(node)) {
      level += point.delta;
      if (point.time > after && level <= cap) return point.time;
    }
    return std::nullopt;
  }
  const Inner& inner = inners_[node.index];
  for (unsigned i = 0; i < inner.count; level += inner.sum[i++]) {
    if (i + 1 < inner.count && inner.first[i + 1] <= after) continue;
    if (level + inner.least[i] > cap) continue;
    const auto found = first_within_cap(child(inner, node.height, i), level, after, cap);
    if (found) return found;
  }
  return std::nullopt;
}

// The last point within (begin, end) from which the level is above `cap`.
std::optional<Time> PointTree::last_above_cap(Node node, Amount level, Interval when,
                                              Amount cap) const {
  if (node.height == 0) {
    std::optional<Time> last;
    for (const Point& point : points_of(node)) {
      if (point.time >= when.end) break;
      level += point.delta;
      if (point.time > when.begin && level > cap) last = point.time;
    }
    return last;
  }
  const Inner& inner = inners_[node.index];
  Amount levels[kFanout];
  unsigned end = 0;
  for (; end < inner.count && inner.first[end] < when.end; ++end) {
    levels[end] = level;
    level += inner.sum[end];
  }
  for (unsigned i = end; i-- > 0;) {
    if (i + 1 < inner.count && inner.first[i + 1] <= when.begin) break;
    if (levels[i] + inner.most[i] <= cap) continue;
    const auto found = last_above_cap(child(inner, node.height, i), levels[i], when, cap);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Time> PointTree::earliest_window(const WindowQuery& query) const {
  std::optional<Time> start = query.from;
  if (level_at(query.from) > query.cap) start = first_within_cap(root(), 0, query.from, query.cap);
  while (start && *start < query.end) {
    const Interval window{*start, saturating_add(*start, query.length)};
    if (window.end > query.end) return std::nullopt;
    // The last obstacle, not the first: two steps then pass at least one length of the window.
    const auto obstacle = last_above_cap(root(), 0, window, query.cap);
    if (!obstacle) return start;
    start = first_within_cap(root(), 0, *obstacle, query.cap);
  }
  return std::nullopt;
}

}  // namespace holon::resource
