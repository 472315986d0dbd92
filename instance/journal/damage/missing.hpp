// missing.hpp - jobs that were acknowledged, and of which a damaged journal has nothing left.
//
// Numbers are given without gaps, so that a number below the next one that has neither a batch nor
// a record is that of a job, or of an advance reservation, which the journal has lost; or an open
// array had kept it, and is lost itself (sort_out()).
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

// Numbers: the first, and the one after the last.
using Numbers = std::pair<std::int64_t, std::int64_t>;

// Those that are missing in between, ascending. Numbers up to the last one that was forgotten
// (journal.keep) may have been forgotten, too, and do not count; neither do unused ones. `typed`
// has the tables of rows.hpp. O(batches and records). Throws what SQLiteCpp throws.
std::vector<Numbers> missing_numbers(SQLite::Database& journal, SQLite::Database& typed);

// "job 7", "jobs 7 to 9".
std::string name_of_jobs(const Numbers& numbers);

// What is said of a job that is lost. `now`: by the wall clock. `array`: the job was a task of it;
// 0: of none that is known.
msg::JobRecord lost_record(const std::string& instance_path, std::uint64_t id, Time now,
                           std::uint64_t array = 0);

// So many records are made of lost jobs.
inline constexpr std::int64_t kMostRecorded = 100'000;

// `put`: INSERT INTO jobs VALUES(?,?,?). `counted_as`: the record's result, or kNotCounted.
void put_record(SQLite::Statement& put, const msg::JobRecord& record,
                const std::string& counted_as);

// No job has these numbers, or has anything left (kUnusedNumbers in schema.hpp). Throws what
// SQLiteCpp throws.
void note_unused(SQLite::Database& journal, const Numbers& numbers);

// What such numbers were.
struct LostNumbers {
  Numbers numbers = {};
  std::int64_t array = 0;  // its tasks had them; 0: jobs or an array had
  bool is_unused = false;  // the array had kept them to grow into
  bool is_array = false;   // one number, the array's own
};

// The same numbers, cut where they are of another kind. `kept`: ascending; arrays of which tasks or
// kept numbers may be among `lost`. O(lost and kept).
std::vector<LostNumbers> sort_out(const std::vector<Numbers>& lost,
                                  const std::vector<KeptNumbers>& kept);

// Was it an array of `lost` that had this number? `lost`: as sort_out() gives it. O(log lost).
bool is_lost_array(const std::vector<LostNumbers>& lost, std::uint64_t id);

// "jobs 7 to 9", "array 7", "jobs 8 to 9, tasks of array 7".
std::string name_of(const LostNumbers& lost);

// Gives each job, each array and each task of `lost` a record that says so, as far as there are not
// more than kMostRecorded; other numbers are unused from here on. An array is no job beside its
// tasks, and is not counted as one. `now`: by the wall clock. Throws what
// SQLiteCpp throws.
void record_lost_jobs(SQLite::Database& journal, const std::vector<LostNumbers>& lost, Time now);

}  // namespace holon::instance
