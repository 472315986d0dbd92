// event_rows.hpp - reads the events of a journal: the latest are rows of their own,
// most of the earlier ones are in packs. Throws what SQLiteCpp throws.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "instance/job/job.hpp"
#include "instance/journal/events/event_pack.hpp"

namespace holon::instance {

struct EventReading {
  // Takes one event; returns false to stop. The event's texts are gone when the call returns.
  std::function<bool(const EventRow&)> take;
  // Is told of packs that cannot be read, and the rest is read; if unset, they are an error.
  std::function<void(const std::string& what)> lost = {};
};

// The event of a row. Errors: invalid_argument (the row makes no sense).
Result<Event> event_in(const EventRow& row);

// Reads the events with numbers from `from` on, in order. Errors: invalid_argument (a pack makes no
// sense). O(events taken, and one pack).
Status each_event(const SQLite::Database& journal, std::int64_t from, const EventReading& reading);

// Ranges of first jobs: each the first, and the last.
using FirstJobs = std::vector<std::pair<std::int64_t, std::int64_t>>;
// Reads the events that were written with a first job in one of the ranges, in the order of their
// numbers. Errors: as above. O(packs with such events, log of the other packs).
Status each_event_of(const SQLite::Database& journal, const FirstJobs& jobs,
                     const EventReading& reading);

// How many events there are; those of forgotten jobs count while their pack is there.
std::int64_t count_events(const SQLite::Database& journal);
// The highest number of an event; 0: there are none.
std::int64_t last_event_number(const SQLite::Database& journal);
// The highest number in a pack; 0: there are none.
std::int64_t last_packed_event(const SQLite::Database& journal);
// The highest number of events with these first jobs; 0: there are none. For a pack that cannot be
// read: the number of its last event.
std::int64_t last_event_of(const SQLite::Database& journal, std::int64_t first, std::int64_t last);

}  // namespace holon::instance
