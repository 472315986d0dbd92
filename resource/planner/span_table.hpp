// span_table.hpp - numbered spans in one contiguous pool; a number is never used twice.
//
// A SpanId is a slot and the slot's generation: an id kept too long is not found, whoever has the
// slot now. Ids follow from the operations alone, so the same calls give the same ids.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "resource/planner/planner.hpp"

namespace holon::resource {

class SpanTable {
 public:
  SpanId insert(const Span& span);
  /// REQUIRES that the id is live.
  void erase(SpanId id);
  /// Forgets all spans; their ids stay used.
  void clear();
  /// The span; nullptr if there is no such span.
  Span* find(SpanId id);
  const Span* find(SpanId id) const;

  /// The next live span in slot order; nullopt at the end.
  std::optional<SpanId> first() const { return from(0); }
  std::optional<SpanId> next(SpanId id) const { return from(slot_of(id) + 1); }

  std::size_t size() const { return size_; }
  std::size_t memory() const { return slots_.capacity() * sizeof(Slot); }
  /// Equal spans under the same ids.
  bool operator==(const SpanTable& other) const;

  static std::size_t slot_of(SpanId id) { return static_cast<std::uint32_t>(id.value()) - 1; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Slot {
    Span span;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
    bool live() const { return !span.when.empty(); }
  };
  SpanId id_of(std::size_t slot) const {
    return SpanId{(std::uint64_t{slots_[slot].generation} << 32) | (slot + 1)};
  }
  std::optional<SpanId> from(std::size_t slot) const;

  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  std::uint32_t size_ = 0;
};

}  // namespace holon::resource
