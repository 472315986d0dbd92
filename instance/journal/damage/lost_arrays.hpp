// lost_arrays.hpp - arrays of which a damaged journal has lost what they were to do: their batch,
// or its jobspec. What is kept of their tasks means nothing without it.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "instance/journal/mark.hpp"

namespace holon::instance {

// The arrays that have no batch, by their numbers. O(arrays). Throws what SQLiteCpp throws.
std::vector<std::int64_t> arrays_without_batch(SQLite::Database& journal);

// Takes such arrays out of a journal, before their batches go. A task that is over gets a record
// with the result it had, as far as there are not more than kMostRecorded of them; the numbers of
// other tasks are missing from here on. Numbers that an open array has kept to grow into become
// unused ones: they are no jobs. `now`: by the wall clock. `kept`, ascending, is what is known of
// such numbers; afterwards it has each of these arrays. Returns what is lost, in words. O(tasks of
// these arrays, and kept). Throws what SQLiteCpp throws.
std::vector<std::string> settle_lost_arrays(SQLite::Database& journal, Time now,
                                            std::vector<KeptNumbers>& kept);

}  // namespace holon::instance
