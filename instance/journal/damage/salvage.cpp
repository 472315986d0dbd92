// Uses SQLite's C interface: columns are copied as they are, and read errors must be survived, not
// thrown.
#include "instance/journal/damage/salvage.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/time.hpp"
#include "instance/journal/schema.hpp"

namespace holon::instance {
namespace {

struct Table {
  const char* name;
  const char* key;
  int columns;
  bool numbered;  // the key is a number
};

constexpr std::array kTables = std::to_array<Table>({
    {"meta", "key", 2, false},
    {"specs", "id", 2, true},
    {"batches", "first", 5, true},
    {"events", "seq", 6, true},
    {"allocs", "job", 4, true},
    {"jobs", "id", 3, true},
    {"descendants", "path", 2, false},
    {"children", "job", 4, true},
    {"outbox", "path", 1, false},
    {"submit_keys", "key", 3, false},
    {"numbers", "key", 2, false},
    {"held_grant", "one", 6, true},
    {"agents", "rank", 3, true},
    {"orphans", "rank", 3, false},
    {"drains", "host", 4, false},
    {"gates", "queue", 3, false},
    {"reservations", "id", 7, true},
    {"reservation_users", "id", 3, false},
    {"aside", "job", 1, true},
    {"offline", "rank", 3, true},
    {"audit", "number", 9, true},
    {"arrays", "id", 2, true},
    {"task_runs", "id", 2, true},
    {"task_ends", "id", 4, true},
    {"graph_tasks", "id", 2, true},
    {"outputs", "id", 5, true},
    {"record_bases", "id", 3, true},
    {"event_packs", "last", 8, true},
    {"grant_entries", "number", 3, true},
    {"graphs", "first", 5, true},
});

constexpr std::int64_t kFarthest = std::int64_t{1} << 60;  // keys from damage to the rows behind it

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Statement prepare_salvage(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  return {statement, &sqlite3_finalize};
}

class TableCopy {
 public:
  TableCopy(sqlite3* from, sqlite3* to, const Table& table, const std::function<void()>& beat,
            Salvage& salvage)
      : from_(from), to_(to), table_(table), beat_(beat), salvage_(salvage) {
    std::string places = "?";
    for (int i = 1; i < table.columns; ++i) places += ",?";
    insert_ =
        prepare_salvage(to, fmt::format("INSERT OR IGNORE INTO {} VALUES({})", table.name, places));
  }

  // False: `to` cannot be written.
  bool run() {
    salvage_.rows[table_.name] = 0;
    if (lacks_table()) return true;
    return table_.numbered ? copy_numbered() : copy_named();
  }

 private:
  enum class End { all_read, unreadable, unwritable };

  // The first journals of this version have fewer tables.
  bool lacks_table() const {
    const auto look = prepare_salvage(
        from_, fmt::format("SELECT 1 FROM sqlite_master WHERE name='{}'", table_.name));
    return look != nullptr && sqlite3_step(look.get()) == SQLITE_DONE;
  }

  // Reads until the end or until it cannot; `last_` becomes the largest key of the rows taken. The
  // rows of a damaged page may come in any order.
  End copy(sqlite3_stmt* select) {
    if (select == nullptr || insert_ == nullptr) return End::unreadable;
    int rc = SQLITE_ROW;
    while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
      beat_();
      for (int i = 0; i < table_.columns; ++i)
        sqlite3_bind_value(insert_.get(), i + 1, sqlite3_column_value(select, i));
      if (!put()) return End::unwritable;
      last_ = std::max<std::int64_t>(last_, sqlite3_column_int64(select, 0));
    }
    return rc == SQLITE_DONE ? End::all_read : End::unreadable;
  }

  // Writes the bound row. False: `to` cannot be written.
  bool put() {
    const int rc = sqlite3_step(insert_.get());
    sqlite3_reset(insert_.get());
    if (rc == SQLITE_DONE)
      salvage_.rows[table_.name] += sqlite3_changes(to_);
    else if (rc == SQLITE_CONSTRAINT)
      salvage_.lost.push_back(
          fmt::format("table {}: a row with values of other types", table_.name));
    return rc == SQLITE_DONE || rc == SQLITE_CONSTRAINT;
  }

  // Where only rows come that were copied before, more and more keys are skipped, so that the copy
  // ends.
  bool copy_numbered() {
    std::int64_t skip = 0;
    for (std::int64_t at = 0;;) {
      last_ = at - 1;
      const auto select =
          prepare_salvage(from_, fmt::format("SELECT * FROM {} WHERE {} >= {} ORDER BY {}",
                                             table_.name, table_.key, at, table_.key));
      const End end = copy(select.get());
      if (end != End::unreadable) return end == End::all_read;
      const bool got_on = last_ >= at;
      const std::int64_t first = got_on ? saturating_add(last_, 1) : at;
      if (got_on) skip = 0;
      const auto next = readable_after(saturating_add(first, skip));
      lose(first, next);
      if (!next) return true;
      at = *next;
      if (!got_on) skip = std::min(2 * skip + 1, kFarthest);
    }
  }

  // The first key beyond the damage from which rows can be read. A seek fails only if it must pass
  // the damaged page, so that the border is found by doubling and halving.
  std::optional<std::int64_t> readable_after(std::int64_t damaged) const {
    std::int64_t bad = damaged, step = 1;
    while (!can_seek(saturating_add(bad, step))) {
      bad = saturating_add(bad, step);
      step *= 2;
      if (step > kFarthest) return std::nullopt;
    }
    std::int64_t good = saturating_add(bad, step);
    while (good - bad > 1) {
      const std::int64_t middle = bad + (good - bad) / 2;
      (can_seek(middle) ? good : bad) = middle;
    }
    return good;
  }

  bool can_seek(std::int64_t key) const {
    const auto select =
        prepare_salvage(from_, fmt::format("SELECT * FROM {} WHERE {} >= {} ORDER BY {}",
                                           table_.name, table_.key, key, table_.key));
    if (!select) return false;
    const int rc = sqlite3_step(select.get());
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
  }

  void lose(std::int64_t first, std::optional<std::int64_t> next) {
    salvage_.lost.push_back(
        next ? fmt::format("table {}: {} {} to {}", table_.name, table_.key, first, *next - 1)
             : fmt::format("table {}: {} {} and all after it", table_.name, table_.key, first));
  }

  // Copies rows from the table's beginning, and where that stops, from its end backwards.
  bool copy_named() {
    for (const char* order : {"ASC", "DESC"}) {
      const auto select = prepare_salvage(
          from_, fmt::format("SELECT * FROM {} ORDER BY {} {}", table_.name, table_.key, order));
      const End end = copy(select.get());
      if (end != End::unreadable) return end == End::all_read;
    }
    salvage_.lost.push_back(fmt::format("table {}: rows in its middle", table_.name));
    return true;
  }

  sqlite3* from_;
  sqlite3* to_;
  const Table& table_;
  const std::function<void()>& beat_;
  Salvage& salvage_;
  Statement insert_{nullptr, &sqlite3_finalize};
  std::int64_t last_ = 0;
};

}  // namespace

Result<Salvage> copy_readable(SQLite::Database& from, SQLite::Database& to,
                              const std::function<void()>& beat) {
  Salvage salvage;
  to.exec("BEGIN IMMEDIATE");
  for (const Table& table : kTables)
    if (!TableCopy(from.getHandle(), to.getHandle(), table, beat, salvage).run())
      return fail(Errc::system, sqlite3_errmsg(to.getHandle()), to.getFilename());
  to.exec("COMMIT");
  return salvage;
}

}  // namespace holon::instance
