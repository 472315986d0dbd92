// schema_pages.hpp - the pages of a journal that say where its tables are. A damaged one takes all
// tables with it, though their rows are whole.
//
// These pages are the same in every journal with the layout (layout.hpp) of a new one, whatever has
// been written to it since: tables are made before the first row, and a page of the schema moves
// only as another table is made. So a new journal has what a damaged page had. A journal that has
// kept no such layout (one to which tables were added later) may have its tables elsewhere, and
// nothing that is left of it tells where.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

struct SchemaMending {
  std::string damage;  // of the schema, in words; empty: SQLite finds all tables
  std::string mended;  // what was done so that SQLite finds them; empty: nothing
};

// Checks whether SQLite finds all tables of a journal. If not, rewrites the one damaged page of the
// schema, provided `file` then has, and has kept, the layout of a new journal; if no page of the
// schema is damaged, rewrites the number of pages that the file says it has. Otherwise indexes
// whose tables are lost are taken out, so that SQLite reads the other tables; `damage` says what is
// missing. REQUIRES: nobody has the database open. Errors: system (`file` cannot be written);
// throws what SQLiteCpp and the filesystem throw.
Result<SchemaMending> mend_schema(const std::string& file);

}  // namespace holon::instance
