// ended_record.hpp - the final record of a job in few bytes: how it differs from that of another
// job of its batch, which shares nearly all of it. What is alike in both is not written again; of a
// text only what lies between the beginning and the end that both have.
//
// The first record of a batch of several that is kept is the one the others are compared with
// (table record_bases, under the last number of the batch: it goes with that). A record of a batch
// of one, and all that journals before version 4 have, are whole: packed as they travel.
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

// Some 40 bytes where they are of equal jobs. Two records that differ in anything have other bytes.
// O(size of the records).
std::string pack_difference(const msg::JobRecord& record, const msg::JobRecord& base);
// Are these bytes of pack_difference()? A whole record begins with another one.
bool is_difference(std::string_view bytes);
// Errors: protocol (no such bytes).
Result<msg::JobRecord> unpack_difference(std::string_view bytes, const msg::JobRecord& base);

// What stands in the column `record` of the table jobs. Of records that are read one after the
// other the base is read once.
class RecordReader {
 public:
  // `db` must outlive it.
  explicit RecordReader(const SQLite::Database& db);
  ~RecordReader();
  // Errors: protocol (it cannot be understood, or what it was compared with is gone). Throws what
  // SQLiteCpp throws.
  Result<msg::JobRecord> read(const SQLite::Column& column, JobId id);

 private:
  Status find_base(JobId id);

  const SQLite::Database& db_;
  std::unique_ptr<msg::JobRecord> base_;
  JobId first_{1}, last_{0};  // those that it is the base of
};

}  // namespace holon::instance
