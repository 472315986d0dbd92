// event_pack.hpp - events of a journal as the bytes of one row: some 2 each, a row of its own takes
// some 70.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

// An event as a row of the table `events` has it. Texts are those of whoever has the row.
struct EventRow {
  std::int64_t number = 0, job = 0, count = 1, time = 0;
  std::string_view name, context;

  bool operator==(const EventRow&) const = default;
};

// "": there is no memory for it. O(bytes).
std::string pack_events(const std::vector<EventRow>& rows);

// The rows of a pack, which have their texts here.
class UnpackedEvents {
 public:
  // Errors: invalid_argument (not such bytes). O(bytes).
  static Result<UnpackedEvents> of(std::string_view pack);

  const std::vector<EventRow>& rows() const { return rows_; }

 private:
  std::vector<char> text_;
  std::vector<EventRow> rows_;
};

}  // namespace holon::instance
