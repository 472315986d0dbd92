// unreadable.hpp - rows that SQLite reads but whose bytes make no sense: nothing guards the inside
// of a row.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

namespace holon::instance {

struct UnreadableRow {
  std::string what;         // in words: "job 7: its record"
  std::string table, key;   // of the row, its key's name; empty: the table cannot be read
  std::string value, type;  // the key's: as text, and its type as SQLite calls it
};

// Checks jobspecs, events, R and records. O(rows).
std::vector<UnreadableRow> unreadable_rows(SQLite::Database& journal);

// Removes such rows from a journal of this version, and returns what they were, in words. Throws
// what SQLiteCpp throws.
std::vector<std::string> drop_unreadable_rows(SQLite::Database& journal);

}  // namespace holon::instance
