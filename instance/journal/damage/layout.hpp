// layout.hpp - the pages at which a journal's tables begin, as a number that the journal keeps from
// when it was made: two journals with the same layout have the same pages of the schema, too.
#pragma once
#include <string>

#include "base/result.hpp"

namespace SQLite {
class Database;
}

namespace holon::instance {

// Makes a journal's tables in an empty database, each at the page where every journal made by this
// program has it. Errors: invalid_argument (another database); throws what SQLiteCpp throws.
Status make_tables(SQLite::Database& empty, const std::string& file);

// The layout of all tables and indexes in the journal: how many tables, and a checksum of all
// names, columns and first pages. O(tables). These throw what SQLiteCpp throws where the schema
// cannot be read.
std::string layout_of(SQLite::Database& journal);
int tables_in(SQLite::Database& journal);

// How many tables a journal of this layout has; 0: the text is no layout.
int tables_of(const std::string& layout);

// The layout that keep_layout() wrote. Empty: the journal was made by a program that kept none, was
// changed since, or this cannot be read.
std::string kept_layout(SQLite::Database& journal);

// Keeps the layout in a new journal. REQUIRES: it has all tables. Throws what SQLiteCpp throws.
void keep_layout(SQLite::Database& journal);

// Removes a kept layout that is outdated: tables were added or moved since. Throws what SQLiteCpp
// throws.
void drop_outdated_layout(SQLite::Database& journal);

}  // namespace holon::instance
