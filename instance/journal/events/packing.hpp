// packing.hpp - rows of events go into packs, and out of them. Throws what SQLiteCpp throws.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>

namespace holon::instance {

inline constexpr std::int64_t kEventsInPack = 512;
// The latest rows stay: somebody follows them.
inline constexpr std::int64_t kEventsUnpacked = 512;

// Moves the oldest kEventsInPack rows with numbers below `before` into a pack, in the caller's
// transaction; fewer where they are large. 0: it was done. Else so many rows are missing for it, or
// none of them can be packed (kEventsInPack). O(rows of a pack).
std::int64_t pack_oldest_events(SQLite::Database& journal, std::int64_t before);

// The events with first jobs from `first` to `last` are gone; the bytes of those in packs go when
// the rest of their pack does. O(packs that have some).
void forget_events(SQLite::Database& journal, std::int64_t first, std::int64_t last);

}  // namespace holon::instance
