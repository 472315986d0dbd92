// point_tree.cpp - keeping the B+ tree: insert, split, erase, merge. The questions are in
// point_search.cpp.
//
// Split: in half, except at the right edge, where plans grow: there the new node starts with the
// new entry alone, so that a plan written in order of time fills its nodes. Merge: a node less than
// a quarter full joins a neighbour if the two stay under three quarters; what remains small is
// found again by the next erase.
#include "resource/planner/point_tree.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace holon::resource {

namespace {

Summary summarize(std::span<const Point> points) {
  Summary out;
  out.most = out.least = points.front().delta;
  for (const Point& point : points) {
    out.sum += point.delta;
    out.most = std::max(out.most, out.sum);
    out.least = std::min(out.least, out.sum);
  }
  return out;
}

// The number of points before `t`.
unsigned position(std::span<const Point> points, Time t) {
  const auto at = std::partition_point(points.begin(), points.end(),
                                       [t](const Point& point) { return point.time < t; });
  return static_cast<unsigned>(at - points.begin());
}

// The last entry that begins at or before `t`; the first if none does.
template <class Inner>
unsigned slot_for(const Inner& inner, Time t) {
  const auto after = std::upper_bound(inner.first + 1, inner.first + inner.count, t);
  return static_cast<unsigned>(after - inner.first) - 1;
}

// Moves [from, count) of one array to the front or back of another, or makes room in one.
template <class T>
void move_range(T* array, unsigned from, unsigned end, T* to) {
  if (to > array && to < array + end)
    std::move_backward(array + from, array + end, to + (end - from));
  else
    std::move(array + from, array + end, to);
}

Point point_of(const Change& change) {
  return {change.at, change.delta, static_cast<std::uint32_t>(change.marks)};
}

// Applies the change. False: it took the last mark off the point.
bool apply(Point& point, const Change& change) {
  point.delta += change.delta;
  point.marks += static_cast<std::uint32_t>(change.marks);
  return point.marks > 0;
}

template <class Inner>
void move_entries(Inner& inner, unsigned from, unsigned end, Inner& target, unsigned to) {
  move_range(inner.child, from, end, target.child + to);
  move_range(inner.first, from, end, target.first + to);
  move_range(inner.sum, from, end, target.sum + to);
  move_range(inner.most, from, end, target.most + to);
  move_range(inner.least, from, end, target.least + to);
  move_range(inner.sketch, from, end, target.sketch + to);
}

}  // namespace

template <class Node>
PointTree::Index PointTree::Pool<Node>::take() {
  if (free_ != kNone) {
    const Index i = free_;
    free_ = nodes_[i].count;
    nodes_[i].count = 0;
    return i;
  }
  // Grows by a quarter: doubling would leave half of a large pool empty.
  if (nodes_.size() == nodes_.capacity()) nodes_.reserve(nodes_.size() + 2 + nodes_.size() / 4);
  nodes_.emplace_back();
  return static_cast<Index>(nodes_.size() - 1);
}

template <class Node>
void PointTree::Pool<Node>::give_back(Index i) {
  nodes_[i].count = free_;
  free_ = i;
}

std::span<const Point> PointTree::points_of(Node leaf) const {
  if (height_ == 0) return small_;
  return {leaves_[leaf.index].points, leaves_[leaf.index].count};
}

Summary PointTree::summary_of(Node node) const {
  if (node.height == 0) return summarize(points_of(node));
  const Inner& inner = inners_[node.index];
  Summary out{0, inner.most[0], inner.least[0]};
  for (unsigned i = 0; i < inner.count; ++i) {
    out.most = std::max(out.most, out.sum + inner.most[i]);
    out.least = std::min(out.least, out.sum + inner.least[i]);
    out.sum += inner.sum[i];
  }
  return out;
}

Time PointTree::first_time(Node node) const {
  return node.height == 0 ? points_of(node).front().time : inners_[node.index].first[0];
}

Time PointTree::last_time(Node node) const {
  while (node.height > 0) {
    const Inner& inner = inners_[node.index];
    node = child(inner, node.height, inner.count - 1);
  }
  return points_of(node).back().time;
}

unsigned PointTree::count_of(Node node) const {
  return node.height == 0 ? leaves_[node.index].count : inners_[node.index].count;
}

void PointTree::bump(const Change& change) {
  if (height_ == 0) return bump_small(change);
  const Index right = bump_node(root(), change);
  if (right != kNone) {
    const Index top = inners_.take();
    Inner& inner = inners_[top];
    inner.count = 2;
    refresh(inner, 0, root());
    refresh(inner, 1, Node{right, height_});
    root_ = top;
    ++height_;
  }
  while (height_ > 0 && inners_[root_].count == 1) {
    const Index only = inners_[root_].child[0];
    inners_.give_back(root_);
    root_ = only;
    if (--height_ == 0) shrink_to_small();
  }
}

// Changes a node. Returns the index of a new right sibling if the node had to be split.
PointTree::Index PointTree::bump_node(Node node, const Change& change) {
  if (node.height == 0) return bump_leaf(node.index, change);
  const unsigned slot = slot_for(inners_[node.index], change.at);
  const Node below = child(inners_[node.index], node.height, slot);
  const Index right = bump_node(below, change);
  if (right != kNone) {
    refresh(inners_[node.index], slot, below);
    return insert_entry(node.index, slot + 1, Node{right, below.height});
  }
  tidy(node.index, slot, below, change);
  return kNone;
}

PointTree::Index PointTree::bump_leaf(Index index, const Change& change) {
  Leaf& leaf = leaves_[index];
  const unsigned at = position({leaf.points, leaf.count}, change.at);
  if (at < leaf.count && leaf.points[at].time == change.at) {
    if (apply(leaf.points[at], change)) return kNone;
    move_range(leaf.points, at + 1, leaf.count, leaf.points + at);
    --leaf.count;
    --size_;
    return kNone;
  }
  if (leaf.count < kLeafSize) {
    move_range(leaf.points, at, leaf.count, leaf.points + at + 1);
    leaf.points[at] = point_of(change);
    ++leaf.count;
    ++size_;
    return kNone;
  }
  const Index right = leaves_.take();
  Leaf& from = leaves_[index];  // taking a node may have moved the others
  Leaf& to = leaves_[right];
  const unsigned keep = at == kLeafSize ? kLeafSize : kLeafSize / 2;
  move_range(from.points, keep, kLeafSize, to.points);
  to.count = kLeafSize - keep;
  from.count = keep;
  const bool left = at <= keep && keep < kLeafSize;
  bump_leaf(left ? index : right, change);
  return right;
}

void PointTree::bump_small(const Change& change) {
  const unsigned at = position(small_, change.at);
  if (at < small_.size() && small_[at].time == change.at) {
    if (apply(small_[at], change)) return;
    small_.erase(small_.begin() + at);
    --size_;
    return;
  }
  if (small_.size() == kLeafSize) {
    grow_from_small();
    return bump(change);
  }
  if (small_.empty()) small_.reserve(2);  // a span's worth at first, then as vectors do
  small_.insert(small_.begin() + at, point_of(change));
  ++size_;
}

void PointTree::grow_from_small() {
  root_ = inners_.take();
  Inner& top = inners_[root_];
  height_ = 1;
  const unsigned half = static_cast<unsigned>(small_.size()) / 2;
  for (const unsigned begin : {0U, half}) {
    const unsigned end = begin == 0 ? half : static_cast<unsigned>(small_.size());
    const Index index = leaves_.take();
    std::copy(small_.begin() + begin, small_.begin() + end, leaves_[index].points);
    leaves_[index].count = end - begin;
    refresh(top, top.count++, Node{index, 0});
  }
  small_ = {};
}

void PointTree::shrink_to_small() {
  const Leaf& leaf = leaves_[root_];
  small_.assign(leaf.points, leaf.points + leaf.count);
  leaves_.clear();
  inners_.clear();
  root_ = kNone;
}

void PointTree::set_summary(Inner& inner, unsigned slot, Node child) {
  const Summary summary = summary_of(child);
  inner.child[slot] = child.index;
  inner.first[slot] = first_time(child);
  inner.sum[slot] = summary.sum;
  inner.most[slot] = summary.most;
  inner.least[slot] = summary.least;
}

void PointTree::set_sketch(Inner& inner, unsigned slot, Node child) {
  if (child.height == 0) {
    inner.sketch[slot] = Sketch::of(points_of(child));
    return;
  }
  const Inner& below = inners_[child.index];
  Sketch::Part parts[kFanout];
  for (unsigned i = 0; i < below.count; ++i)
    parts[i] = {below.first[i], {below.sum[i], below.most[i], below.least[i]}, &below.sketch[i]};
  inner.sketch[slot] =
      Sketch::of(std::span<const Sketch::Part>{parts, below.count}, last_time(child));
}

void PointTree::refresh(Inner& inner, unsigned slot, Node child) {
  set_summary(inner, slot, child);
  set_sketch(inner, slot, child);
}

PointTree::Index PointTree::insert_entry(Index parent, unsigned slot, Node child) {
  if (inners_[parent].count < kFanout) {
    Inner& inner = inners_[parent];
    move_entries(inner, slot, inner.count, inner, slot + 1);
    refresh(inner, slot, child);
    ++inner.count;
    return kNone;
  }
  const Index right = inners_.take();
  Inner& from = inners_[parent];
  Inner& to = inners_[right];
  const unsigned keep = slot == kFanout ? kFanout : kFanout / 2;
  move_entries(from, keep, kFanout, to, 0);
  to.count = kFanout - keep;
  from.count = keep;
  const bool left = slot <= keep && keep < kFanout;
  insert_entry(left ? parent : right, left ? slot : slot - keep, child);
  return right;
}

void PointTree::erase_entry(Inner& inner, unsigned slot) {
  move_entries(inner, slot + 1, inner.count, inner, slot);
  --inner.count;
}

// Brings the entry of a changed child up to date; drops an empty child, and joins a small one with
// a neighbour.
void PointTree::tidy(Index parent, unsigned slot, Node child, const Change& change) {
  Inner& inner = inners_[parent];
  constexpr unsigned kSmall = kLeafSize / 4, kJoined = kLeafSize / 4 * 3;
  static_assert(kLeafSize == kFanout);
  const unsigned count = count_of(child);
  if (count == 0) {
    child.height == 0 ? leaves_.give_back(child.index) : inners_.give_back(child.index);
    return erase_entry(inner, slot);
  }
  if (count < kSmall && inner.count > 1) {
    const unsigned left = slot > 0 ? slot - 1 : slot;
    const Node first{inner.child[left], child.height};
    const Node second{inner.child[left + 1], child.height};
    if (count_of(first) + count_of(second) <= kJoined) {
      merge(first, second);
      erase_entry(inner, left + 1);
      return refresh(inner, left, first);
    }
  }
  set_summary(inner, slot, child);
  const bool covered = inner.sketch[slot].cover(change, inner.first[slot]);
  if (!covered || inner.sketch[slot].age() >= sketch_age(child.height))
    set_sketch(inner, slot, child);
}

void PointTree::merge(Node left, Node right) {
  if (left.height == 0) {
    Leaf& to = leaves_[left.index];
    Leaf& from = leaves_[right.index];
    move_range(from.points, 0, from.count, to.points + to.count);
    to.count += from.count;
    return leaves_.give_back(right.index);
  }
  Inner& to = inners_[left.index];
  Inner& from = inners_[right.index];
  move_entries(from, 0, from.count, to, to.count);
  to.count += from.count;
  inners_.give_back(right.index);
}

template <class Visit>
void PointTree::visit_points(Node node, const Visit& visit) const {
  if (node.height == 0) {
    for (const Point& point : points_of(node)) visit(point);
    return;
  }
  const Inner& inner = inners_[node.index];
  for (unsigned i = 0; i < inner.count; ++i) visit_points(child(inner, node.height, i), visit);
}

bool PointTree::operator==(const PointTree& other) const {
  if (size_ != other.size_) return false;
  // Equal content may be cut into nodes differently.
  const auto all = [](const PointTree& tree) {
    std::vector<Point> points;
    points.reserve(tree.size_);
    tree.visit_points(tree.root(), [&](const Point& point) { points.push_back(point); });
    return points;
  };
  return all(*this) == all(other);
}

std::size_t PointTree::memory() const {
  return small_.capacity() * sizeof(Point) + leaves_.memory() + inners_.memory();
}

void PointTree::check_node(Node node) const {
  if (node.height == 0) return;
  const Inner& inner = inners_[node.index];
  HOLON_CHECK(inner.count >= 1 && inner.count <= kFanout);
  for (unsigned i = 0; i < inner.count; ++i) {
    const Node below = child(inner, node.height, i);
    HOLON_CHECK(count_of(below) >= 1);
    check_node(below);
    const Summary summary = summary_of(below);
    HOLON_CHECK(inner.first[i] == first_time(below));
    HOLON_CHECK(inner.sum[i] == summary.sum);
    HOLON_CHECK(inner.most[i] == summary.most && inner.least[i] == summary.least);
    std::vector<Point> points;
    visit_points(below, [&](const Point& point) { points.push_back(point); });
    // A few caps where something is open and something is not: the only ones a sketch is asked
    // about.
    for (Amount k = 0; k < 8; ++k) {
      const Amount cap = summary.least + (summary.most - summary.least) / 8 * k;
      if (cap < summary.most) check_sketch(inner.sketch[i], points, cap);
    }
  }
}

void PointTree::check_sketch(const Sketch& sketch, std::span<const Point> points, Amount cap) {
  const Sketch::Bounds bounds = sketch.at(cap);
  Amount level = 0;
  bool open = false, blocked = false;
  Time since = 0;
  for (const Point& point : points) {
    const bool was_open = open;
    open = (level += point.delta) <= cap;
    if (open && !was_open) since = point.time;
    if (was_open) HOLON_CHECK(distance(since, point.time) <= bounds.best);
    if (!open && !blocked && cap >= 0)
      HOLON_CHECK(point.time <= std::max(bounds.head, points.front().time));
    blocked = blocked || !open;
  }
  if (open) HOLON_CHECK(bounds.tail <= since);
}

void PointTree::check_invariants() const {
  if (height_ > 0) HOLON_CHECK(small_.empty() && inners_[root_].count >= 2);
  check_node(root());
  std::size_t count = 0;
  Amount level = 0;
  std::optional<Time> before;
  visit_points(root(), [&](const Point& point) {
    HOLON_CHECK(point.marks > 0);
    HOLON_CHECK(!before || *before < point.time);
    before = point.time;
    level += point.delta;
    HOLON_CHECK(level >= 0);
    ++count;
  });
  HOLON_CHECK(level == 0 && count == size_);
}

}  // namespace holon::resource
