// point_tree.hpp - the points of a Timeline in a B+ tree whose nodes know how the level moves
// across them.
//
// A point stores the *change* of the level at it, and a node's summary is relative to the level at
// its left edge. So a span is two changed points and the two paths above them, however many points
// lie inside it; nothing is ever pushed down. Nodes live in two vectors and name each other by
// index: a copy is a copy of vectors.
//
// Up to kLeafSize points are one sorted vector that grows with them (most vertices of a graph never
// need more); the queries see it as a tree that is one leaf.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/planner/sketch.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::resource {

class PointTree {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t memory() const;
  bool operator==(const PointTree& other) const;

  /// The level changes by `delta` from `at` on, and `marks` more (or fewer) span ends lie there. A
  /// point comes with its first mark and goes with its last. O(log P).
  void bump(const Change& change);

  Amount level_at(Time t) const;
  /// The largest level over `when`, which is not empty.
  Amount max_level(Interval when) const;
  /// The smallest level over `when`, which is not empty.
  Amount min_level(Interval when) const;
  /// The begin, not before `from`, of the stretch within the cap just before `before`.
  Time opened_at(Time before, Time from, Amount cap) const;
  std::optional<Time> next_point(Time from) const;
  std::optional<Time> earliest_window(const WindowQuery& query) const;

  void check_invariants() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  static constexpr unsigned kLeafSize = 32;
  static constexpr unsigned kFanout = 32;
  static_assert(kLeafSize <= Sketch::kMostParts && kFanout <= Sketch::kMostParts);
  // The number of changes after which sketches are built anew: often enough to be sharp, seldom
  // enough not to be felt. In a tree of one inner node, a vain search of a leaf costs less than a
  // sketch that is always sharp.
  static constexpr unsigned kLeafAge = 1;
  static constexpr unsigned kLeafAgeInSmallTree = 4;
  static constexpr unsigned kInnerAge = 64;
  unsigned sketch_age(unsigned height) const {
    if (height > 0) return kInnerAge;
    return height_ == 1 ? kLeafAgeInSmallTree : kLeafAge;
  }

  struct Leaf {
    unsigned count = 0;
    Point points[kLeafSize];
  };
  // Entry i is the subtree of child[i]: its first time, its summary, its sketch.
  struct Inner {
    unsigned count = 0;
    Index child[kFanout];
    Time first[kFanout];
    Amount sum[kFanout];
    Amount most[kFanout];
    Amount least[kFanout];
    Sketch sketch[kFanout];
  };
  // Nodes by index, freed ones chained through `count`.
  template <class Node>
  class Pool {
   public:
    Node& operator[](Index i) { return nodes_[i]; }
    const Node& operator[](Index i) const { return nodes_[i]; }
    Index take();
    void give_back(Index i);
    void clear() { *this = Pool(); }
    std::size_t memory() const { return nodes_.capacity() * sizeof(Node); }

   private:
    std::vector<Node> nodes_;
    Index free_ = kNone;
  };

  // A node at height 0 is a leaf. `kNone`: no node.
  struct Node {
    Index index = kNone;
    unsigned height = 0;
  };
  Node root() const { return {root_, height_}; }
  Node child(const Inner& inner, unsigned height, unsigned slot) const {
    return {inner.child[slot], height - 1};
  }
  std::span<const Point> points_of(Node leaf) const;
  Summary summary_of(Node node) const;
  Time first_time(Node node) const;
  Time last_time(Node node) const;
  unsigned count_of(Node node) const;

  Index bump_node(Node node, const Change& change);
  Index bump_leaf(Index index, const Change& change);
  void bump_small(const Change& change);
  void grow_from_small();
  void shrink_to_small();
  void set_summary(Inner& inner, unsigned slot, Node child);
  void set_sketch(Inner& inner, unsigned slot, Node child);
  void refresh(Inner& inner, unsigned slot, Node child);  // both
  Index insert_entry(Index parent, unsigned slot, Node child);
  void erase_entry(Inner& inner, unsigned slot);
  void tidy(Index parent, unsigned slot, Node child, const Change& change);
  void merge(Node left, Node right);

  Amount min_between(Node node, Amount level, Time begin, Time end) const;
  Amount max_between(Node node, Amount level, Time begin, Time end) const;
  std::optional<Time> last_above_cap(Node node, Amount level, Interval when, Amount cap) const;

  struct Search;
  std::optional<Time> scan(Node node, Amount level, Search& search) const;
  std::optional<Time> scan_leaf(Node node, Amount level, Search& search) const;
  std::optional<Time> window_before(Time t, Search& search) const;
  static bool pass(const Inner& inner, unsigned i, Amount room, Search& search);

  template <class Visit>
  void visit_points(Node node, const Visit& visit) const;
  void check_node(Node node) const;
  static void check_sketch(const Sketch& sketch, std::span<const Point> points, Amount cap);

  std::vector<Point> small_;  // all points while the tree is one leaf
  Pool<Leaf> leaves_;
  Pool<Inner> inners_;
  Index root_ = kNone;
  unsigned height_ = 0;
  std::size_t size_ = 0;
};

}  // namespace holon::resource
