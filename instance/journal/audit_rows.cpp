#include "instance/journal/audit_rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

namespace holon::instance {
namespace {

constexpr std::int64_t kMostDropped = 1'000;

}  // namespace

std::int64_t add_audit(SQLite::Database& db, SQLite::Statement& insert, const AuditRow& row) {
  SQLite::bind(insert, row.time, row.uid, row.pid, int{row.passed_on}, row.topic, row.path,
               row.what, row.refused);
  insert.exec();
  insert.reset();
  return db.getLastInsertRowid();
}

void set_audit_what(SQLite::Database& db, std::int64_t number, const std::string& what) {
  // Appends to the origin of the request, if that is there.
  SQLite::Statement q(
      db, "UPDATE audit SET what=CASE what WHEN '' THEN ? ELSE what||': '||? END WHERE number=?");
  SQLite::bind(q, what, what, number);
  q.exec();
}

void set_audit_refused(SQLite::Database& db, std::int64_t number, const std::string& why) {
  SQLite::Statement q(db, "UPDATE audit SET refused=? WHERE number=?");
  SQLite::bind(q, why, number);
  q.exec();
}

void drop_audit(SQLite::Database& db, std::int64_t up_to) {
  SQLite::Statement q(db,
                      "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE number<=? "
                      "ORDER BY number LIMIT ?)");
  SQLite::bind(q, up_to, kMostDropped);
  q.exec();
}

std::vector<AuditRow> read_audit(const SQLite::Database& db, std::int64_t before,
                                 std::int64_t limit, bool refused_only) {
  SQLite::Statement q(db,
                      "SELECT number, time, uid, pid, passed_on, topic, path, what, refused FROM "
                      "audit WHERE number<? AND (?=0 OR refused<>'') ORDER BY number DESC LIMIT ?");
  SQLite::bind(q, before, int{refused_only}, limit);
  const auto text = [&q](int column) { return q.getColumn(column).getString(); };
  const auto number = [&q](int column) { return q.getColumn(column).getInt64(); };
  std::vector<AuditRow> rows;
  while (q.executeStep())
    rows.push_back({number(0), number(1), number(2), number(3), number(4) != 0, text(5), text(6),
                    text(7), text(8)});
  return rows;
}

}  // namespace holon::instance
