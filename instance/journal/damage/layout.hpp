// layout.hpp - at which pages of a journal its tables begin, as a number that the journal keeps
// from when it was made: of two journals with the same layout the pages of the schema are the same,
// too.
#pragma once
#include <string>

#include "base/result.hpp"

namespace SQLite {
class Database;
}

namespace holon::instance {

// Makes the tables of a journal in an empty database, each at the page where every journal has it
// that this program makes. Errors: invalid_argument (another database); throws what SQLiteCpp
// throws.
Status make_tables(SQLite::Database& empty, const std::string& file);

// Of all tables and indexes that are in it: how many tables, and a checksum of the names, columns
// and first pages of all. O(tables). These throw what SQLiteCpp throws where the schema cannot be
// read.
std::string layout_of(SQLite::Database& journal);
int tables_in(SQLite::Database& journal);

// How many tables a journal of this layout has; 0: it is none.
int tables_of(const std::string& layout);

// What keep_layout() wrote. Empty: the journal was made by a program that kept none, was changed
// since, or this cannot be read.
std::string kept_layout(SQLite::Database& journal);

// REQUIRES: a new journal with all its tables. Throws what SQLiteCpp throws.
void keep_layout(SQLite::Database& journal);

// Where tables were added or moved since, the journal keeps no layout any more. Throws what
// SQLiteCpp throws.
void drop_outdated_layout(SQLite::Database& journal);

}  // namespace holon::instance
