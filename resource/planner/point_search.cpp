// point_search.cpp - the questions asked of a PointTree. Each walks down with the level at the left
// edge of the node it is in, so that a child's relative summary tells at once whether it can hold
// an answer.
#include <algorithm>
#include <limits>

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
  return std::max<Amount>(0, max_between(root(), 0, when.begin, when.end));
}

// The largest level over [begin, end), as far as the node's points tell.
Amount PointTree::max_between(Node node, Amount level, Time begin, Time end) const {
  Amount most = std::numeric_limits<Amount>::min();
  if (node.height == 0) {
    for (const Point& point : points_of(node)) {
      if (point.time >= end) break;
      level += point.delta;
      most = point.time > begin ? std::max(most, level) : level;
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

Amount PointTree::min_level(Interval when) const {
  const Amount least = min_between(root(), 0, when.begin, when.end);
  return when.begin < first_time(root()) ? std::min<Amount>(0, least) : least;
}

// The smallest level over [begin, end), as far as the node's points tell.
Amount PointTree::min_between(Node node, Amount level, Time begin, Time end) const {
  Amount least = std::numeric_limits<Amount>::max();
  if (node.height == 0) {
    for (const Point& point : points_of(node)) {
      if (point.time >= end) break;
      level += point.delta;
      least = point.time > begin ? std::min(least, level) : level;
    }
    return least;
  }
  const Inner& inner = inners_[node.index];
  for (unsigned i = 0; i < inner.count && inner.first[i] < end; level += inner.sum[i++]) {
    const bool last = i + 1 == inner.count;
    if (!last && inner.first[i + 1] <= begin) continue;
    const bool whole = !last && inner.first[i] > begin && inner.first[i + 1] <= end;
    const Amount here = whole ? level + inner.least[i]
                              : min_between(child(inner, node.height, i), level, begin, end);
    least = std::min(least, here);
  }
  return least;
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

// A sweep from left to right that enters only what may hold a window. `open`: the level is within
// the cap since `since`; where a subtree was passed on the word of its sketch, `since` is a little
// early and not `exact`.
struct PointTree::Search {
  explicit Search(const WindowQuery& asked) : query(asked), stop(asked.end) {}

  const WindowQuery query;
  bool open = false;
  bool exact = true;
  bool over = false;  // nothing later can be an answer
  Time since = 0;
  Time stop;  // up to here nothing is decided

  Time window_end() const { return saturating_add(since, query.length); }
  void open_at(Time t, bool is_exact) {
    open = true;
    since = t;
    exact = is_exact;
    stop = std::min(window_end(), query.end);
  }
  void close() {
    open = false;
    stop = query.end;
  }
};

Time PointTree::opened_at(Time before, Time from, Amount cap) const {
  const auto obstacle = last_above_cap(root(), 0, {from, before}, cap);
  if (obstacle) return *next_point(*obstacle + 1);
  return level_at(from) <= cap ? from : *next_point(from + 1);
}

// The window that is complete when the sweep reaches `t` >= search.stop, if there is one.
std::optional<Time> PointTree::window_before(Time t, Search& search) const {
  if (search.open && !search.exact && search.window_end() <= t)
    search.open_at(opened_at(t, search.query.from, search.query.cap), true);
  if (search.open && search.window_end() <= t) {
    search.over = true;
    if (search.since < search.query.end && search.window_end() <= search.query.end)
      return search.since;
  }
  search.over = search.over || t >= search.query.end;
  return std::nullopt;
}

std::optional<Time> PointTree::scan_leaf(Node node, Amount level, Search& search) const {
  for (const Point& point : points_of(node)) {
    level += point.delta;
    if (point.time <= search.query.from) continue;
    if (point.time >= search.stop) {
      if (const auto found = window_before(point.time, search); search.over) return found;
    }
    if (level > search.query.cap)
      search.close();
    else if (!search.open)
      search.open_at(point.time, true);
  }
  return std::nullopt;
}

std::optional<Time> PointTree::scan(Node node, Amount level, Search& search) const {
  if (node.height == 0) return scan_leaf(node, level, search);
  const Inner& inner = inners_[node.index];
  for (unsigned i = 0; i < inner.count; level += inner.sum[i++]) {
    if (i + 1 < inner.count && inner.first[i + 1] <= search.query.from) continue;
    if (inner.first[i] > search.query.from) {
      if (inner.first[i] >= search.stop) {
        if (const auto found = window_before(inner.first[i], search); search.over) return found;
      }
      if (pass(inner, i, search.query.cap - level, search)) continue;
    }
    const auto found = scan(child(inner, node.height, i), level, search);
    if (search.over) return found;
  }
  return std::nullopt;
}

// Passes entry i if the sweep need not look inside. True: the sweep is behind it now. `room`: the
// cap, relative to the entry's left edge.
bool PointTree::pass(const Inner& inner, unsigned i, Amount room, Search& search) {
  if (inner.most[i] <= room) {
    if (!search.open) search.open_at(inner.first[i], true);
    return true;
  }
  if (inner.least[i] > room) {
    search.close();
    return true;
  }
  const Sketch& sketch = inner.sketch[i];
  const unsigned step = sketch.step(room);
  if (sketch.best(step) >= search.query.length) return false;
  if (search.open && sketch.head(step) >= search.window_end()) return false;
  if (inner.sum[i] <= room)
    search.open_at(sketch.tail(step), false);
  else
    search.close();
  return true;
}

std::optional<Time> PointTree::earliest_window(const WindowQuery& query) const {
  Search search(query);
  if (level_at(query.from) <= query.cap) search.open_at(query.from, true);
  const auto found = scan(root(), 0, search);
  return search.over ? found : window_before(kTimeMax, search);
}

}  // namespace holon::resource
