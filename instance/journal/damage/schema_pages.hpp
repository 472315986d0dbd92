// schema_pages.hpp - the pages of a journal that say where its tables are. One that is damaged
// takes all tables with it, though their rows are whole.
//
// What is on these pages is the same in every journal that was made by this version, whatever has
// been written to it since: tables are made before the first row, and a page of the schema moves
// only as another table is made. So a new journal has what a damaged page had. A journal of an
// earlier version has other pages, and one that was migrated mostly has its later tables elsewhere.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

struct SchemaMending {
  std::string damage;       // what SQLite says of the schema; empty: it can be read
  bool is_renewed = false;  // and now it can be
};

// Looks whether SQLite finds all tables of a journal, and if not writes the damaged page of the
// schema anew: where the other ones are those of a new journal, so that this one is known, too, and
// where the rows then have the types of their tables' columns. Otherwise `file` stays as it is.
// REQUIRES: nobody has the database open. Errors: system (the new journal beside `file` cannot be
// made, `file` cannot be written); throws what SQLiteCpp and the filesystem throw.
Result<SchemaMending> mend_schema(const std::string& file);

}  // namespace holon::instance
