// missing.hpp - acknowledged jobs of which a damaged journal has nothing left.
//
// Numbers are given without gaps, so that a number below the next one without a batch or a record
// belonged to a job, or an advance reservation, that the journal has lost; or an open array had
// kept it, and is lost itself (sort_out()).
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "instance/journal/mark.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// A range of numbers: the first, and the one after the last.
using Numbers = std::pair<std::int64_t, std::int64_t>;

// Numbers that are missing below the next one, ascending. Numbers up to the last forgotten one
// (journal.keep) may have been forgotten, too, and do not count; neither do unused ones. `typed`
// has the tables of rows.hpp. O(batches and records). Throws what SQLiteCpp throws.
std::vector<Numbers> missing_numbers(SQLite::Database& journal);

// The number after the last one below `stop` that a row of a job has; 1: none has. In a damaged
// journal any of a job's rows may be gone. O(log rows). Throws what SQLiteCpp throws.
std::int64_t number_entered_before(SQLite::Database& journal, std::int64_t stop);

// "job 7", "jobs 7 to 9".
std::string name_of_jobs(const Numbers& numbers);

// The record of a lost job. `now`: by the wall clock. `array`: the job was a task of this array; 0:
// of none that is known.
msg::JobRecord lost_record(const std::string& instance_path, std::uint64_t id, Time now,
                           std::uint64_t array = 0);

// Lost jobs get at most this many records.
inline constexpr std::int64_t kMostRecorded = 100'000;

// `put`: INSERT INTO jobs VALUES(?,?,?). `counted_as`: the record's result, or kNotCounted.
void put_record(SQLite::Statement& put, const msg::JobRecord& record,
                const std::string& counted_as);

// Notes that no job has these numbers, or has left anything (kUnusedNumbers in schema.hpp). Throws
// what SQLiteCpp throws.
void note_unused(SQLite::Database& journal, const Numbers& numbers);

// Lost numbers, and what they stood for.
struct LostNumbers {
  Numbers numbers = {};
  std::int64_t array = 0;  // they were tasks of this array; 0: jobs or an array
  bool is_unused = false;  // this array had kept them to grow into
  bool is_array = false;   // one number, that of an array
};

// Cuts the lost numbers into pieces of one kind. `kept`: ascending; arrays whose tasks or kept
// numbers may be among `lost`. O(lost and kept).
std::vector<LostNumbers> sort_out(const std::vector<Numbers>& lost,
                                  const std::vector<KeptNumbers>& kept);

// Was this the number of a lost array? `lost`: as sort_out() returns it. O(log lost).
bool is_lost_array(const std::vector<LostNumbers>& lost, std::uint64_t id);

// "jobs 7 to 9", "array 7", "jobs 8 to 9, tasks of array 7".
std::string name_of(const LostNumbers& lost);

// Gives each job, array and task of `lost` a record that says so, as long as there are not more
// than kMostRecorded; other numbers are unused from here on. An array is no job beside its tasks,
// and is not counted as one. `now`: by the wall clock. Throws what SQLiteCpp throws.
void record_lost_jobs(SQLite::Database& journal, const std::vector<LostNumbers>& lost, Time now);

}  // namespace holon::instance
