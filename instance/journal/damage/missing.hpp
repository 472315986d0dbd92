// missing.hpp - jobs that were acknowledged, and of which a damaged journal has nothing left.
//
// Numbers are given without gaps, so that a number below the next one that has neither a batch nor
// a record is that of a job, or of an advance reservation, which the journal has lost.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// Numbers: the first, and the one after the last.
using Numbers = std::pair<std::int64_t, std::int64_t>;

// Those that are missing in between, ascending. Numbers up to the last one that was forgotten
// (journal.keep) may have been forgotten, too, and do not count. `typed` has the tables of
// rows.hpp. O(batches and records). Throws what SQLiteCpp throws.
std::vector<Numbers> missing_numbers(SQLite::Database& journal, SQLite::Database& typed);

// "job 7", "jobs 7 to 9".
std::string name_of_jobs(const Numbers& numbers);

// What is said of a job that is lost. `now`: by the wall clock.
msg::JobRecord lost_record(const std::string& instance_path, std::uint64_t id, Time now);

// Gives each of them such a record, not many more than a hundred thousand in all. Throws what
// SQLiteCpp throws.
void record_lost_jobs(SQLite::Database& journal, const std::vector<Numbers>& lost, Time now);

}  // namespace holon::instance
