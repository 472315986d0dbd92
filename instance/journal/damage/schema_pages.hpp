// schema_pages.hpp - the pages of a journal that say where its tables are. One that is damaged
// takes all tables with it, though their rows are whole.
//
// What is on these pages is the same in every journal with the layout (layout.hpp) of a new one,
// whatever has been written to it since: tables are made before the first row, and a page of the
// schema moves only as another table is made. So a new journal has what a damaged page had. A
// journal that has kept no such layout, as one that was migrated, may have its tables elsewhere,
// and nothing that is left of it tells where.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

struct SchemaMending {
  std::string damage;  // of the schema, in words; empty: SQLite finds all tables
  std::string mended;  // what was done, so that it finds them now; empty: nothing
};

// Looks whether SQLite finds all tables of a journal. If not, writes the one damaged page of the
// schema anew where `file` then has the layout of a new journal and has kept that same one; and
// where no page of the schema is damaged, the number of pages that the file says it has. Otherwise
// `file` stays as it is. REQUIRES: nobody has the database open. Errors: system (`file` cannot be
// written); throws what SQLiteCpp and the filesystem throw.
Result<SchemaMending> mend_schema(const std::string& file);

}  // namespace holon::instance
