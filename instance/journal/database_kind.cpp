#include "instance/journal/database_kind.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

namespace holon::instance {

int version_of(SQLite::Database& db) {
  return db.execAndGet("PRAGMA user_version").getInt();
}

Status expect_kind(SQLite::Database& db, const DatabaseKind& kind, const std::string& file) {
  const int application = db.execAndGet("PRAGMA application_id").getInt();
  const int version = version_of(db);
  if (application != kind.application_id)
    return fail(Errc::invalid_argument,
                fmt::format("this is another database, not a holon {}", kind.name), file);
  if (version != kind.version)
    return fail(Errc::invalid_argument,
                fmt::format("the {} has version {}, this program reads version {}", kind.name,
                            version, kind.version),
                file);
  return {};
}

Status adopt_schema(SQLite::Database& db, const DatabaseKind& kind, const std::string& file) {
  const int application = db.execAndGet("PRAGMA application_id").getInt();
  const int tables = db.execAndGet("SELECT count(*) FROM sqlite_master").getInt();
  if (tables != 0 || application != 0) return expect_kind(db, kind, file);
  SQLite::Transaction whole(db);
  db.exec(kind.schema);
  db.exec(fmt::format("PRAGMA application_id={}", kind.application_id));
  db.exec(fmt::format("PRAGMA user_version={}", kind.version));
  whole.commit();
  return {};
}

}  // namespace holon::instance
