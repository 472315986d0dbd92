// lost_arrays.hpp - arrays whose batch, or its jobspec, a damaged journal has lost. What is left of
// their tasks means nothing without it.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "instance/journal/mark.hpp"

namespace holon::instance {

// Numbers of the arrays that have no batch. O(arrays). Throws what SQLiteCpp throws.
std::vector<std::int64_t> arrays_without_batch(SQLite::Database& journal);

// Takes such arrays out of a journal, before their batches go. Tasks that are over get records with
// their results, up to kMostRecorded of them; the numbers of other tasks are missing from here on.
// Numbers that an open array has kept to grow into become unused: they are no jobs. `now`: by the
// wall clock. `kept`, ascending, is what is known of such numbers; afterwards it has each of these
// arrays. Returns what is lost, in words. O(tasks of these arrays, and kept). Throws what SQLiteCpp
// throws.
std::vector<std::string> settle_lost_arrays(SQLite::Database& journal, Time now,
                                            std::vector<KeptNumbers>& kept);

}  // namespace holon::instance
