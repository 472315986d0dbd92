// migrate.hpp - turns a journal of an earlier schema into one of this schema. In version 1 all that
// is not of a job was text in the table meta; version 2 has a table for each kind of it (rows.hpp).
// Later versions add tables, names of events and another form of records; earlier rows stay as they
// are. Version 5 obeys attributes of a jobspec that were ignored up to version 4: they are taken
// out of the jobspecs, so that jobs keep what they were accepted with.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <memory>
#include <string>
#include <vector>

namespace holon::instance {

// Rows that could not be understood and are left out, in words.
using NotUnderstood = std::vector<std::string>;

// Migrates in one transaction; does nothing to a journal of this version. Throws what SQLiteCpp
// throws. REQUIRES: the version is known.
NotUnderstood migrate(SQLite::Database& journal);

// Moves rows of meta into the tables that they have now. The tables are those of this version, the
// rows may be of any.
NotUnderstood move_meta_rows(SQLite::Database& journal);

// The jobspec of a journal of that version, without attributes that were ignored when it was
// submitted: before version 5, shell.options.taskmap, and files that are not of the form that is
// accepted now. Other texts are returned unchanged.
std::string modern_jobspec(std::string jobspec, int version);
// Does that to all jobspecs of `journal`, whose tables are those of this version. Throws what
// SQLiteCpp throws.
void modernize_jobspecs(SQLite::Database& journal, int version);

// Reads what a journal of any version keeps beside its jobs, without writing to it.
class TypedTables {
 public:
  // Throws what SQLiteCpp throws. `journal` must outlive it.
  explicit TypedTables(SQLite::Database& journal);

  // The database with the tables of rows.hpp that there were in version 2.
  SQLite::Database& tables() const { return moved_ ? *moved_ : journal_; }
  const NotUnderstood& not_understood() const { return not_understood_; }

 private:
  SQLite::Database& journal_;
  std::unique_ptr<SQLite::Database> moved_;  // in memory, for a journal of an earlier version
  NotUnderstood not_understood_;
};

}  // namespace holon::instance
