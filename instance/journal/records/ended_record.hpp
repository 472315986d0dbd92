// ended_record.hpp - the final record of a job in few bytes: as its difference from the record of
// another job of its batch. Members that are alike in both are not written again; of a text only
// what lies between the common beginning and end.
//
// The first record that is kept of a batch of several is the base that the others are compared with
// (table record_bases, under the last number of the batch: it goes with that). Records of batches
// of one are whole: packed as they travel.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/strong.hpp"

namespace SQLite {
class Column;
class Database;
}  // namespace SQLite
namespace holon::msg {
struct JobRecord;
}

namespace holon::instance {

// Some 40 bytes for records of equal jobs. Two records that differ in anything have other bytes.
// O(size of the records).
std::string pack_difference(const msg::JobRecord& record, const msg::JobRecord& base);
// Are these bytes of pack_difference()? A whole record begins with another byte.
bool is_difference(std::string_view bytes);
// Errors: protocol (the bytes are no difference).
Result<msg::JobRecord> unpack_difference(std::string_view bytes, const msg::JobRecord& base);

// Reads the column `record` of the table jobs. For records read one after the other the base is
// read once.
class RecordReader {
 public:
  // `db` must outlive it.
  explicit RecordReader(const SQLite::Database& db);
  ~RecordReader();
  // Errors: protocol (the record cannot be understood, or its base is gone). Throws what SQLiteCpp
  // throws.
  Result<msg::JobRecord> read(const SQLite::Column& column, JobId id);

 private:
  Status find_base(JobId id);

  const SQLite::Database& db_;
  std::unique_ptr<msg::JobRecord> base_;
  JobId first_{1}, last_{0};  // the jobs whose base is kept
};

}  // namespace holon::instance
