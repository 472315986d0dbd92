#include "resource/planner/span_table.hpp"

namespace holon::resource {

SpanId SpanTable::insert(const Span& span) {
  std::size_t slot = free_;
  if (free_ != kNone) {
    free_ = slots_[slot].next_free;
  } else {
    // Grows by a quarter: doubling would leave half of a large table empty.
    if (slots_.size() == slots_.capacity())
      slots_.reserve(slots_.size() + 1 + slots_.size() / (slots_.size() < 64 ? 1 : 4));
    slot = slots_.size();
    slots_.emplace_back();
  }
  slots_[slot].span = span;
  ++size_;
  return id_of(slot);
}

void SpanTable::erase(SpanId id) {
  const std::size_t slot = slot_of(id);
  slots_[slot].span = Span{};
  ++slots_[slot].generation;
  slots_[slot].next_free = free_;
  free_ = static_cast<std::uint32_t>(slot);
  --size_;
}

void SpanTable::clear() {
  for (auto id = first(); id; id = next(*id)) erase(*id);
}

const Span* SpanTable::find(SpanId id) const {
  const std::size_t slot = slot_of(id);
  if (slot >= slots_.size() || !slots_[slot].live() || id_of(slot) != id) return nullptr;
  return &slots_[slot].span;
}

Span* SpanTable::find(SpanId id) {
  return const_cast<Span*>(static_cast<const SpanTable*>(this)->find(id));
}

std::optional<SpanId> SpanTable::from(std::size_t slot) const {
  for (; slot < slots_.size(); ++slot) {
    if (slots_[slot].live()) return id_of(slot);
  }
  return std::nullopt;
}

bool SpanTable::operator==(const SpanTable& other) const {
  if (size_ != other.size_) return false;
  auto mine = first();
  for (auto theirs = other.first(); mine; mine = next(*mine), theirs = other.next(*theirs)) {
    if (mine != theirs || *find(*mine) != *other.find(*theirs)) return false;
  }
  return true;
}

}  // namespace holon::resource
