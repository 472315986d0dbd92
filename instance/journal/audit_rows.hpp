// audit_rows.hpp - the table of who asked for what, and who was refused (users/audit.hpp writes
// it). Functions throw what SQLiteCpp throws: the Journal catches at its edge.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace SQLite {
class Database;
class Statement;
}  // namespace SQLite

namespace holon::instance {

struct AuditRow {
  std::int64_t number = 0;
  std::int64_t time = 0;  // ms, by the wall clock
  std::int64_t uid = -1;  // -1: not known
  std::int64_t pid = 0;
  bool passed_on = false;  // by the instance above this one
  std::string topic, path, what;
  std::string refused;  // why; empty: the request was not refused

  bool operator==(const AuditRow&) const = default;
};

inline constexpr const char* kInsertAudit = "INSERT INTO audit VALUES(NULL,?,?,?,?,?,?,?,?)";

// Adds a row under the next number and returns that number. `insert` is a statement of
// kInsertAudit.
std::int64_t add_audit(SQLite::Database& db, SQLite::Statement& insert, const AuditRow& row);
// Adds what became of the request.
void set_audit_what(SQLite::Database& db, std::int64_t number, const std::string& what);
void set_audit_refused(SQLite::Database& db, std::int64_t number, const std::string& why);
// Drops rows up to that number, the oldest thousand at most, so that nobody waits for it.
void drop_audit(SQLite::Database& db, std::int64_t up_to);
// Reads at most `limit` rows with numbers below `before`, the newest first.
std::vector<AuditRow> read_audit(const SQLite::Database& db, std::int64_t before,
                                 std::int64_t limit, bool refused_only);

}  // namespace holon::instance
