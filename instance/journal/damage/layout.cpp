#include "instance/journal/damage/layout.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <cstdlib>

#include "base/checksum.hpp"
#include "instance/journal/schema.hpp"

namespace holon::instance {
namespace {
constexpr const char* kLayoutKey = "journal.layout";  // a key of meta
}

Status make_tables(SQLite::Database& empty, const std::string& file) {
  empty.exec("PRAGMA auto_vacuum=INCREMENTAL");
  if (auto made = adopt_schema(empty, kJournalKind, file); !made) return made;
  empty.exec(kLaterTables);
  return {};
}

int tables_in(SQLite::Database& journal) {
  return journal.execAndGet("SELECT count(*) FROM sqlite_master WHERE type = 'table'").getInt();
}

std::string layout_of(SQLite::Database& journal) {
  std::string all;
  SQLite::Statement q(journal, "SELECT type, name, rootpage, sql FROM sqlite_master ORDER BY name");
  while (q.executeStep())
    for (int i = 0; i < q.getColumnCount(); ++i) all += q.getColumn(i).getString() + '\0';
  return fmt::format("{}-{:016x}", tables_in(journal), checksum(all));
}

int tables_of(const std::string& layout) {
  return static_cast<int>(std::strtol(layout.c_str(), nullptr, 10));
}

std::string kept_layout(SQLite::Database& journal) {
  try {
    SQLite::Statement q(journal, "SELECT value FROM meta WHERE key = ?");
    q.bind(1, std::string(kLayoutKey));
    return q.executeStep() ? q.getColumn(0).getString() : "";
  } catch (const SQLite::Exception&) {
    return "";
  }
}

void keep_layout(SQLite::Database& journal) {
  SQLite::Statement put(journal, "INSERT OR REPLACE INTO meta VALUES(?,?)");
  put.bind(1, std::string(kLayoutKey));
  put.bind(2, layout_of(journal));
  put.exec();
}

void drop_outdated_layout(SQLite::Database& journal) {
  const auto kept = kept_layout(journal);
  if (kept.empty() || kept == layout_of(journal)) return;
  SQLite::Statement gone(journal, "DELETE FROM meta WHERE key = ?");
  gone.bind(1, std::string(kLayoutKey));
  gone.exec();
}

}  // namespace holon::instance
