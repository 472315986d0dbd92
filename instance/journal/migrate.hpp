// migrate.hpp - a journal of an earlier schema becomes one of this one. In version 1 all that is
// not of a job were texts in the table meta; version 2 has a table for each kind of it (rows.hpp).
// Later versions add tables, names of events and another form of records; what was written before
// stays as it is. Up to version 4 some attributes of a jobspec were ignored that version 5 obeys:
// they are taken out of the jobspecs, so that jobs keep what they were accepted with.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <memory>
#include <string>
#include <vector>

namespace holon::instance {

// What could not be understood, in words; it is left out.
using NotUnderstood = std::vector<std::string>;

// In one transaction; does nothing to a journal of this version. Throws what SQLiteCpp throws.
// REQUIRES: the version is known.
NotUnderstood migrate(SQLite::Database& journal);

// The rows of meta that have tables of their own now go there. The tables are those of this
// version, the rows may be of any.
NotUnderstood move_meta_rows(SQLite::Database& journal);

// The jobspec of a journal of that version, without attributes that were ignored when it was
// submitted: before version 5, shell.options.taskmap, and files that are not of the form that is
// accepted now. Other texts are returned as they are.
std::string modern_jobspec(std::string jobspec, int version);
// The same for all jobspecs of `journal`, whose tables are those of this version. Throws what
// SQLiteCpp throws.
void modernize_jobspecs(SQLite::Database& journal, int version);

// What a journal of any version keeps beside its jobs, without writing to it.
class TypedTables {
 public:
  // Throws what SQLiteCpp throws. `journal` must outlive it.
  explicit TypedTables(SQLite::Database& journal);

  // Has the tables of rows.hpp that there were in version 2.
  SQLite::Database& tables() const { return moved_ ? *moved_ : journal_; }
  const NotUnderstood& not_understood() const { return not_understood_; }

 private:
  SQLite::Database& journal_;
  std::unique_ptr<SQLite::Database> moved_;  // in memory, of a journal of an earlier version
  NotUnderstood not_understood_;
};

}  // namespace holon::instance
