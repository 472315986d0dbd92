// event_pack.hpp - many events of a journal packed into one row: some 2 bytes each, where a row of
// its own takes some 70. Columns beside the bytes describe them, under a checksum of their own.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"

namespace holon::instance {

// An event as a row of the table `events` has it. Its texts belong to the owner of the row.
struct EventRow {
  std::int64_t number = 0, job = 0, count = 1, time = 0;
  std::string_view name, context;

  bool operator==(const EventRow&) const = default;
};

// Packs the events. "": there is no memory for it. O(bytes).
std::string pack_events(const std::vector<EventRow>& rows);

// The rows of a pack, which owns their texts.
class UnpackedEvents {
 public:
  // Errors: invalid_argument (the bytes are no pack). O(bytes).
  static Result<UnpackedEvents> of(std::string_view pack);

  const std::vector<EventRow>& rows() const { return rows_; }

 private:
  std::vector<char> text_;
  std::vector<EventRow> rows_;
};

// The columns of `event_packs` that a statement must have for the functions below, the key first.
// The functions throw what SQLiteCpp throws.
inline constexpr const char* kPackColumns = "last, count, low, high, span, jobs, checksum, events";

struct PackLabel {
  std::int64_t last = 0;   // number of the last event in the pack
  std::int64_t count = 0;  // events in the pack, with those of forgotten jobs
  Idset jobs;              // first jobs of its events, without forgotten ones; not empty
};

struct PackRow {
  PackLabel label;
  UnpackedEvents events;
};

// Errors of both: invalid_argument, naming a pack that is not what was written.
Result<PackLabel> label_in(SQLite::Statement& row);  // O(ranges of jobs)
Result<PackRow> pack_in(SQLite::Statement& row);     // O(bytes)

void put_pack(SQLite::Database& journal, const PackLabel& label, const std::string& events);
// Writes the jobs of `label` into the row of label.last.
void change_jobs(SQLite::Database& journal, const PackLabel& label);

// The statement of packs_between(), with `first` and `last` as its parameters: for tests of its
// plan.
inline constexpr const char* kPacksBetween =
    "WITH RECURSIVE spans(n) AS (SELECT min(span) FROM event_packs UNION ALL SELECT (SELECT "
    "min(span) FROM event_packs WHERE span > n) FROM spans WHERE n IS NOT NULL) "
    "SELECT last FROM spans CROSS JOIN event_packs ON span = n AND low > ?1 - n AND low <= ?2 "
    "WHERE high >= ?1 ORDER BY last";

// Keys of packs that may have events with first jobs from `first` to `last`, ascending. Where each
// pack is of a few neighbouring jobs: O(packs found, log of the others).
std::vector<std::int64_t> packs_between(const SQLite::Database& journal, std::int64_t first,
                                        std::int64_t last);

}  // namespace holon::instance
