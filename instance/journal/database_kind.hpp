// database_kind.hpp - which of holon's SQLite databases a file is.
#pragma once
#include <string>

#include "base/result.hpp"

namespace SQLite {
class Database;
}

namespace holon::instance {

struct DatabaseKind {
  const char* name;    // as in "a holon journal"
  int application_id;  // in the file's header; another program's file is left alone
  int version;         // of the schema
  const char* schema;
};

int version_of(SQLite::Database& database);
// Is it a database of this kind and version? Errors: invalid_argument;
// throws what SQLiteCpp throws.
Status expect_kind(SQLite::Database& database, const DatabaseKind& kind, const std::string& file);
// Checks the same, and creates the tables in an empty database. Errors: invalid_argument where the
// file is of another kind or version; throws what SQLiteCpp throws.
Status adopt_schema(SQLite::Database& database, const DatabaseKind& kind, const std::string& file);

}  // namespace holon::instance
