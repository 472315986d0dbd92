#include "instance/journal/records/past.hpp"

#include <vector>

#include "instance/job/ended.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/schema.hpp"
#include "instance/journal/state.hpp"

namespace holon::instance {

std::string meta_of(SQLite::Database& db, const char* key) {
  SQLite::Statement q(db, "SELECT value FROM meta WHERE key=?");
  q.bind(1, key);
  return q.executeStep() ? q.getColumn(0).getString() : "";
}

std::string_view bytes_of(const SQLite::Column& column) {
  return {static_cast<const char*>(column.getBlob()), std::size_t(column.getBytes())};
}

InstanceClock clock_of_journal(SQLite::Database& db) {
  InstanceClock clock(boot_id());
  clock.go_on(meta_of(db, kClock), 0);
  return clock;
}

std::optional<std::int64_t> tasks_of_array(SQLite::Database& db, std::int64_t id) {
  if (!db.tableExists("arrays")) return std::nullopt;
  SQLite::Statement q(db, "SELECT tasks FROM arrays WHERE id = ?");
  q.bind(1, id);
  return q.executeStep() ? std::optional(q.getColumn(0).getInt64()) : std::nullopt;
}

Lifecycle life_of_run(std::string_view bytes, const Lifecycle& array) {
  Lifecycle life = fresh_task(array);
  const auto events = events_in_run(bytes);
  for (const Event& event : events ? *events : std::vector<Event>())
    if (auto next = apply(life, event)) life = std::move(*next);
  return life;
}

}  // namespace holon::instance
