// search_amounts.cpp - slots of amounts: so many cores, GPUs, units of memory of one node.
//
// The vertex that such a slot is filled in is its home: a node, or what the request names right
// above the slot. What stands between the home and what a slot is made of, sockets, NUMA nodes, are
// its parts. A slot is filled inside one part where it can be, from the innermost ones outwards;
// what that leaves over goes together in the next larger part. As each slot takes the same of each
// type, there are as many slots as the amounts of the home divide into, whatever is taken first.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "resource/match/search.hpp"

namespace holon::resource::match {
namespace {

Occupancy::Types types_of(const std::vector<Need>& shape) {
  Occupancy::Types types = 0;
  for (const Need& need : shape) types |= Occupancy::bit(need.type);
  return types;
}

bool is_fixed(const Count& count) {
  return count.values.empty() && count.min == count.max;
}

}  // namespace

bool Search::is_home(VertexId v, const Need& slot, const Need* named) const {
  if (!slot.of_amounts) return false;
  if (graph_[v].type == node_type_) return true;
  return named != nullptr &&
         (!node_type_ || (occupancy_.types_below(v) & Occupancy::bit(*node_type_)) == 0);
}

bool Search::has_amounts(VertexId v, const Need& slot) const {
  const Occupancy::Types all = types_of(slot.with);
  return (occupancy_.types_below(v) & all) == all;
}

// Enters the parts of v that may be entered, one by one, until `inside` says that it is enough.
template <class Inside>
bool Search::any_part(VertexId v, const std::vector<Need>& shape, Inside inside) {
  const Occupancy::Types asked = types_of(shape);
  if ((occupancy_.inner_children(v) & ~asked) == 0) return false;
  const auto enter = [&](VertexId part) {
    if (occupancy_.is_leaf(part) || (Occupancy::bit(graph_[part].type) & asked) != 0) return false;
    ++counts_.visited;
    const Admission admission = admit(part, shape, true);
    if (admission.units <= 0) return false;
    const bool was_free = std::exchange(all_free_, admission.all_free && !idle_);
    const bool enough = inside(part);
    all_free_ = was_free;
    return enough;
  };
  const std::span<const VertexId> children =
      policy_.stop_at_first ? order_->children(v) : graph_.children(v);
  if (policy_.stop_at_first || policy_.order == Order::low)
    return std::any_of(children.begin(), children.end(), enter);
  return std::any_of(children.rbegin(), children.rend(), enter);
}

// Do v's counters leave room for one slot more than were made?
bool Search::offers_another(VertexId v, const Need& slot, std::int64_t made) const {
  Demand all = slot.below;
  for (Amount& amount : all) amount *= made + 1;
  const TypeId type = graph_[v].type;
  return idle_ || all_free_ ? occupancy_.contains(type, v, all)
                            : occupancy_.offers(type, v, all, when_);
}

// Fills slots in those parts that have no parts themselves. True: all that are wanted. Nearly every
// search ends so, without a look at the rest of the home.
bool Search::fill_inside(VertexId v, const Need& slot, std::int64_t wanted, Harvest& harvest) {
  const Occupancy::Types asked = types_of(slot.with);
  return any_part(v, slot.with, [&](VertexId part) {
    if (!has_amounts(part, slot) || !offers_another(part, slot, 0)) return false;
    if ((occupancy_.inner_children(part) & ~asked) != 0)
      return fill_inside(part, slot, wanted, harvest);
    const std::int64_t open = wanted - harvest.of(kSlot).count;
    Harvest& contents = next_harvest();
    explore(part, slot.with, false, true, open, contents);
    --depth_;
    make_slots(slot.with, contents, open, harvest);
    return harvest.of(kSlot).count >= wanted;
  });
}

// All that is free in a home, by its parts, and slots made of it.
class Search::Amounts {
 public:
  // `fixed`: each type is asked for in one number, no more and no less.
  Amounts(Search& search, const std::vector<Need>& shape, bool fixed, std::int64_t wanted)
      : search_(search), shape_(shape), fixed_(fixed), wanted_(wanted) {}

  void fill(VertexId home, Harvest& harvest) {
    gather(home, kNone, 0);
    for (std::size_t n = 0; n < shape_.size(); ++n) {
      each_.push_back(largest_count(shape_[n].count, parts_.front().left[n]));
      if (each_.back() == 0) return;
    }
    std::vector<std::size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return parts_[a].depth > parts_[b].depth;
    });
    // A slot without fixed numbers gets as much as there is in the whole home.
    if (!fixed_) order = {0};
    Found& slots = harvest.of(kSlot);
    for (const std::size_t part : order)
      while (slots.count < wanted_ && has_one(parts_[part])) {
        slots.groups.push_back(make(part));
        ++slots.count;
      }
  }

 private:
  // Amounts are indexed by the type's number in the shape.
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Part {
    std::size_t above = kNone, depth = 0;
    std::vector<Found> own;  // stands in it and in none of its parts
    std::vector<Next> next;
    std::vector<Amount> own_left, left;  // not in any slot yet; with its parts
    std::vector<std::size_t> parts;
  };

  std::size_t gather(VertexId v, std::size_t above, std::size_t depth) {
    const std::size_t index = parts_.size();
    parts_.emplace_back();
    parts_.back().above = above;
    parts_.back().depth = depth;
    find_own(v, parts_[index]);
    search_.any_part(v, shape_, [&](VertexId inner) {
      const std::size_t below = gather(inner, index, depth + 1);
      parts_[index].parts.push_back(below);
      for (std::size_t n = 0; n < shape_.size(); ++n)
        parts_[index].left[n] += parts_[below].left[n];
      return false;
    });
    return index;
  }

  void find_own(VertexId v, Part& part) {
    const Occupancy::Types asked = types_of(shape_);
    Harvest& contents = search_.next_harvest();
    const auto find = [&](VertexId unit) {
      if ((Occupancy::bit(search_.graph_[unit].type) & asked) != 0)
        search_.try_child(unit, shape_, false, true, contents);
    };
    const std::span<const VertexId> children =
        search_.policy_.stop_at_first ? search_.order_->children(v) : search_.graph_.children(v);
    std::for_each(children.begin(), children.end(), find);
    for (const VertexId linked : search_.graph_.links(v))
      search_.try_child(linked, shape_, false, true, contents, v);
    --search_.depth_;
    for (const Need& need : shape_) {
      part.own.push_back(contents.of(need.type));
      search_.sort(part.own.back().groups, search_.policy_.order != Order::low);
      part.own_left.push_back(part.own.back().count);
    }
    part.left = part.own_left;
    part.next.resize(shape_.size());
  }

  bool has_one(const Part& part) const {
    for (std::size_t n = 0; n < shape_.size(); ++n)
      if (part.left[n] < each_[n]) return false;
    return true;
  }

  Group make(std::size_t part) {
    Group slot{1, 1, static_cast<std::uint32_t>(search_.taken_.size()), 0};
    std::vector<Amount> missing = each_;
    take(part, missing, slot);
    slot.length = static_cast<std::uint32_t>(search_.taken_.size()) - slot.first;
    return slot;
  }

  // Takes what is missing, as far as it is there, first from the part that has most of it. So a
  // slot is in few parts, and its GPU near its cores.
  void take(std::size_t part, std::vector<Amount>& missing, Group& slot) {
    for (;;) {
      std::size_t from = kNone;
      double most = 0;
      for (const std::size_t inner : parts_[part].parts)
        if (const double share = share_of(parts_[inner].left, missing); share > most) {
          from = inner;
          most = share;
        }
      const double own = share_of(parts_[part].own_left, missing);
      if (most == 0 && own == 0) return;
      if (own > most)
        take_own(part, missing, slot);
      else
        take(from, missing, slot);
    }
  }

  // The share of what is missing that is there: all of a type counts 1.
  double share_of(const std::vector<Amount>& left, const std::vector<Amount>& missing) const {
    double share = 0;
    for (std::size_t n = 0; n < shape_.size(); ++n)
      if (missing[n] > 0)
        share +=
            static_cast<double>(std::min(left[n], missing[n])) / static_cast<double>(missing[n]);
    return share;
  }

  void take_own(std::size_t part, std::vector<Amount>& missing, Group& slot) {
    for (std::size_t n = 0; n < shape_.size(); ++n) {
      Part& from = parts_[part];
      const Amount units = search_.fill(slot, from.own[n], missing[n], from.next[n]);
      missing[n] = std::max<Amount>(0, missing[n] - units);
      from.own_left[n] -= units;
      for (std::size_t up = part; up != kNone; up = parts_[up].above) parts_[up].left[n] -= units;
    }
  }

  Search& search_;
  const std::vector<Need>& shape_;
  const bool fixed_;
  const std::int64_t wanted_;
  std::vector<Amount> each_;  // of each type, what a slot takes
  std::vector<Part> parts_;   // the home first
};

void Search::fill_amounts(VertexId v, const Answer& answer, Harvest& harvest) {
  const Need& slot = *answer.amounts;
  if ((occupancy_.inner_children(v) & ~types_of(slot.with)) == 0)
    return fill_slots(v, answer, harvest);
  const std::int64_t wanted = std::min(answer.slots, kMostSlots);
  const bool fixed = std::all_of(slot.with.begin(), slot.with.end(),
                                 [](const Need& need) { return is_fixed(need.count); });
  if (fixed && !graph_.has_links()) {
    if (fill_inside(v, slot, wanted, harvest)) return;
    if (!offers_another(v, slot, harvest.of(kSlot).count)) return;
  }
  harvest.clear();
  Amounts(*this, slot.with, fixed, wanted).fill(v, harvest);
}

}  // namespace holon::resource::match
