#include "resource/match/alternatives.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace holon::resource::match {
namespace {

using UnitsByType = std::vector<std::int64_t>;

// The most states that are worth an exact answer.
constexpr std::int64_t kMaxStates = 200'000;
// The most states kept in memory, some of which are looked at twice.
constexpr std::size_t kMostKept = 1'000'000;

std::size_t index_of(const Stock& stock, TypeId type) {
  return static_cast<std::size_t>(std::lower_bound(stock.types.begin(), stock.types.end(), type) -
                                  stock.types.begin());
}

class Mixer {
 public:
  Mixer(const std::vector<Need>& slots, const Stock& stock) : slots_(slots), stock_(stock) {}

  std::vector<std::size_t> best(UnitsByType units) {
    if (!solve(units)) return in_turn(std::move(units));
    std::vector<std::size_t> mix;
    for (const Plan* plan = &plans_.at(units); plan->score > 0; plan = &plans_.at(plan->rest))
      mix.push_back(plan->kind);
    return mix;
  }

 private:
  struct Plan {
    std::int64_t score = 0;  // slots that can be filled in all
    std::size_t kind = 0;    // of the next slot
    UnitsByType rest;        // left after it
  };

  // The rest of `units` after one slot of the kind; nullopt: such a slot cannot be filled.
  std::optional<UnitsByType> after(const UnitsByType& units, const Need& slot) const {
    UnitsByType rest = units;
    for (const Need& need : slot.with) {
      const std::size_t i = index_of(stock_, need.type);
      const std::int64_t count = largest_count(need.count, units[i]);
      if (count <= 0) return std::nullopt;
      rest[i] -= count;
    }
    if (std::any_of(rest.begin(), rest.end(), [](std::int64_t u) { return u < 0; }))
      return std::nullopt;
    return slot.with.empty() ? std::nullopt : std::optional(std::move(rest));
  }

  // Fills one slot of each kind in turn, until none can be filled any more.
  std::vector<std::size_t> in_turn(UnitsByType units) const {
    std::vector<std::size_t> mix;
    for (bool filled = true; filled;) {
      filled = false;
      for (std::size_t kind = 0; kind < slots_.size(); ++kind) {
        auto rest = after(units, slots_[kind]);
        if (!rest) continue;
        units = std::move(*rest);
        mix.push_back(kind);
        filled = true;
      }
    }
    return mix;
  }

  // Solves depth-first with a stack of its own: a slot is a level, and there may be very many.
  // False: too many states.
  bool solve(const UnitsByType& start) {
    std::vector<UnitsByType> open{start};
    while (!open.empty()) {
      const UnitsByType units = open.back();
      if (plans_.contains(units)) {
        open.pop_back();
        continue;
      }
      const std::size_t before = open.size();
      Plan plan;
      std::int64_t best = -1;
      for (std::size_t kind = 0; kind < slots_.size(); ++kind) {
        auto rest = after(units, slots_[kind]);
        if (!rest) continue;
        const auto known = plans_.find(*rest);
        if (known == plans_.end()) {
          open.push_back(std::move(*rest));
        } else if (known->second.score > best) {
          best = known->second.score;
          plan = {best + 1, kind, std::move(*rest)};
        }
      }
      if (open.size() > before) {
        if (plans_.size() + open.size() > kMostKept) return false;
        continue;
      }
      plans_.emplace(units, std::move(plan));
      open.pop_back();
    }
    return true;
  }

  const std::vector<Need>& slots_;
  const Stock& stock_;
  std::map<UnitsByType, Plan> plans_;
};

std::vector<std::size_t> only_kind(const Need& slot, const Stock& stock, std::int64_t wanted) {
  std::int64_t most = wanted;
  for (const Need& need : slot.with) {
    const std::int64_t there = stock.units[index_of(stock, need.type)];
    const std::int64_t count = largest_count(need.count, there);
    most = count <= 0 ? 0 : std::min(most, there / count);
  }
  return std::vector<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)), 0);
}

// The stock, cut to what `wanted` slots of the most demanding kind could take of each type.
UnitsByType bounded(const std::vector<Need>& slots, const Stock& stock, std::int64_t wanted) {
  std::int64_t states = 1;
  for (const std::int64_t units : stock.units)
    states *= std::min(units + 1, kMaxStates / states + 1);
  if (states <= kMaxStates) return stock.units;
  UnitsByType units = stock.units;
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::int64_t most = 1;
    for (const Need& slot : slots)
      for (const Need& need : slot.with)
        if (need.type == stock.types[i]) most = std::max(most, largest_count(need.count, units[i]));
    units[i] = std::min(
        units[i], most > units[i] / std::max<std::int64_t>(wanted, 1) ? units[i] : most * wanted);
  }
  return units;
}

}  // namespace

std::vector<std::size_t> best_mix(const std::vector<Need>& slots, const Stock& stock,
                                  std::int64_t wanted) {
  if (slots.size() == 1) return only_kind(slots[0], stock, wanted);
  return Mixer(slots, stock).best(bounded(slots, stock, wanted));
}

}  // namespace holon::resource::match
