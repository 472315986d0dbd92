// packing.hpp - moves rows of events into packs, and out of them. Throws what SQLiteCpp throws.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>

namespace holon::instance {

inline constexpr std::int64_t kEventsInPack = 512;
// This many of the latest rows stay: followers read them.
inline constexpr std::int64_t kEventsUnpacked = 512;

struct Packing {
  std::int64_t up_to = 0;    // rows up to this number are packed, or stay rows
  std::int64_t missing = 0;  // this many rows more are needed for a pack; 0: try again
};

// Moves the oldest kEventsInPack rows with numbers above `after` and below `before` into a pack, in
// the caller's transaction; fewer where they are large. A row of more than 256 KiB, or a damaged
// one, stays. O(rows of a pack; bytes of at most 512 KiB are compressed).
Packing pack_oldest_events(SQLite::Database& journal, std::int64_t after, std::int64_t before);

// Removes the events with first jobs from `first` to `last`; in a pack their bytes go only with the
// rest of the pack. O(packs that have some).
void forget_events(SQLite::Database& journal, std::int64_t first, std::int64_t last);

}  // namespace holon::instance
