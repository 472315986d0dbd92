// search_flexible.cpp - where the flexible traverser differs: slots side by side are alternatives.
//
// Kept from Fluxion because choices depend on it: how many slots are wanted is what the last of the
// alternatives says; and a request whose level holds slots is met through them or not at all.
#include <algorithm>

#include "resource/match/alternatives.hpp"
#include "resource/match/search.hpp"

namespace holon::resource::match {
namespace {

// For each type, the most that any alternative asks for.
std::vector<Need> most_of_each(const std::vector<Need>& slots) {
  std::map<TypeId, Need> by_type;
  for (const Need& slot : slots)
    for (const Need& need : slot.with) {
      const auto [at, is_new] = by_type.try_emplace(need.type, need);
      if (!is_new && at->second.count.min < need.count.min) at->second = need;
    }
  std::vector<Need> together;
  for (auto& [type, need] : by_type) together.push_back(std::move(need));
  return together;
}

}  // namespace

Search::Answer Search::compare_flexible(VertexId v, const std::vector<Need>& needs,
                                        bool pristine) const {
  Answer answer;
  const std::vector<Need>* slots = nullptr;
  bool slots_beside = false;
  for (const Need& need : needs) {
    if (need.type == graph_[v].type) {
      if (answer.need != nullptr || slots_beside) return {};  // one type once at a level
      answer.need = &need;
      for (const Need& inner : need.with) {
        if (!inner.is_slot()) continue;
        slots = &need.with;
        answer.slots = inner.most;
      }
    } else if (need.is_slot()) {
      if (answer.need != nullptr) return {};
      slots = &needs;
      answer.slots = need.most;
      slots_beside = true;
    }
  }
  const auto has_all = [&](const Need& slot) {
    return std::all_of(slot.with.begin(), slot.with.end(),
                       [&](const Need& inner) { return occupancy_.has_child_type(v, inner.type); });
  };
  if (slots != nullptr && std::any_of(slots->begin(), slots->end(), has_all)) {
    answer.kind = Answer::Kind::slot;
    answer.next = slots;
  } else if (slots == nullptr && answer.need != nullptr) {
    answer.kind = Answer::Kind::resource;
    answer.next = &answer.need->with;
  } else if (pristine) {
    answer.kind = Answer::Kind::pass;
    answer.next = &needs;
  }
  return answer;
}

bool Search::offers_flexible(VertexId v, const std::vector<Need>& needs, bool exclusive) const {
  const TypeId type = graph_[v].type;
  bool asked = false;
  bool offered = true;  // by the last alternative
  for (const Need& need : needs) {
    const bool named = need.type == type;
    if (!named && !need.is_slot()) continue;
    offered = occupancy_.offers(type, v, need.below, when_);
    if (!named) continue;
    asked = true;
    const bool shared = divides(need);
    if (exclusive && need.exclusive == false && !shared) return false;
    if (((exclusive && !shared) || need.exclusive == true) && !occupancy_.idle(v, when_))
      return false;
    if (!offered) return false;
  }
  return offered && (asked || !is_whole(type) || occupancy_.idle(v, when_));
}

// Fills one slot of this shape from what is not used yet; false: the whole vertices do not add up.
bool Search::fill_slot(const std::vector<Need>& shape, const Harvest& contents,
                       std::map<TypeId, Next>& next, Harvest& harvest) {
  Group slot{1, 1, static_cast<std::uint32_t>(taken_.size()), 0};
  for (const Need& need : shape) {
    const Found* found = contents.find(need.type);
    const std::int64_t count = found == nullptr ? 0 : largest_count(need.count, found->count);
    if (count > 0 && fill(slot, *found, count, next[need.type]) < count) return false;
  }
  slot.length = static_cast<std::uint32_t>(taken_.size()) - slot.first;
  Found& into = harvest.of(kSlot);
  into.groups.push_back(slot);
  ++into.count;
  return true;
}

void Search::fill_alternatives(VertexId v, const Answer& answer, Harvest& harvest) {
  const std::vector<Need>& slots = *answer.next;
  const auto [known, is_new] = together_.try_emplace(&slots);
  if (is_new) known->second = most_of_each(slots);
  const std::vector<Need>& together = known->second;
  Harvest& contents = next_harvest();
  explore(v, together, false, true, answer.slots, contents);
  --depth_;
  const bool descending = policy_.order != Order::low;
  for (Found& found : contents.types) sort(found.groups, descending);
  Stock stock;
  for (const Need& need : together) {
    const Found* found = contents.find(need.type);
    stock.types.push_back(need.type);
    stock.units.push_back(found == nullptr ? 0 : found->count);
  }
  std::map<TypeId, Next> next;
  for (const std::size_t kind : best_mix(
           slots, stock, request_->by_units ? std::min(answer.slots, kMostSlots) : answer.slots))
    if (!fill_slot(slots[kind].with, contents, next, harvest)) {
      Found& filled =
          harvest.of(kSlot);  // one that cannot be filled spoils them all, as in Fluxion
      filled.groups.clear();
      filled.count = 0;
      return;
    }
}

}  // namespace holon::resource::match
