// journal_copy.hpp - a copy of an instance's journal as it was at one moment, made while its broker
// may go on writing. Neither the journal nor its locks are touched.
//
// SQLite changes the database only by moving pages from the write-ahead log into it, and each log
// has a head of its own. The database is copied first, then its log: if the log's head is the same
// before and after, the copied log has all pages that were being moved meanwhile.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

class JournalCopy {
 public:
  // Errors: not_found (no journal there), busy (it changes faster than it can be copied), system.
  static Result<JournalCopy> of(const std::string& state_dir);
  JournalCopy(JournalCopy&& other) noexcept;
  JournalCopy& operator=(JournalCopy&& other) noexcept;
  ~JournalCopy();

  // A state directory with the copy, and with what tells whose it is and how far it had come.
  const std::string& state_dir() const { return dir_; }

 private:
  explicit JournalCopy(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;  // removed at the end; "": it was moved away
};

}  // namespace holon::instance
