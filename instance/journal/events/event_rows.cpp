// A pack says which first jobs it has events of, so that only packs with a wanted event are
// uncompressed; it still holds events of forgotten jobs, but does not name those jobs.
#include "instance/journal/events/event_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "instance/journal/events/event_pack.hpp"

namespace holon::instance {
namespace {

constexpr const char* kRow = "SELECT seq, job, count, time, name, context FROM events ";

// Journals of earlier versions have no packs.
bool has_packs(const SQLite::Database& journal) {
  return journal.tableExists("event_packs");
}

// Reads one number; 0 for NULL.
std::int64_t number_from(const SQLite::Database& journal, const char* sql) {
  SQLite::Statement q(journal, sql);
  return q.executeStep() ? q.getColumn(0).getInt64() : 0;
}

std::string_view event_text(SQLite::Statement& q, int column) {
  const SQLite::Column value = q.getColumn(column);
  const char* const text = value.getText();  // before asking for its length
  return {text, static_cast<std::size_t>(value.getBytes())};
}

EventRow event_row(SQLite::Statement& q) {
  return {q.getColumn(0).getInt64(), q.getColumn(1).getInt64(), q.getColumn(2).getInt64(),
          q.getColumn(3).getInt64(), event_text(q, 4),          event_text(q, 5)};
}

std::string pack_sql(std::string_view where) {
  return fmt::format("SELECT {} FROM event_packs WHERE {}", kPackColumns, where);
}

// Reads unpacked events, which come behind all packs but for those that no pack has taken.
class EventRows {
 public:
  EventRows(const SQLite::Database& journal, const std::string& where)
      : q_(journal, fmt::format("{}WHERE {} ORDER BY seq", kRow, where)) {}

  SQLite::Statement& parameters() { return q_; }
  // Takes the next rows: those with numbers below `number`, or all. False: the reader has enough.
  bool take_below(std::optional<std::int64_t> number, const EventReading& reading) {
    if (!began_) has_one_ = q_.executeStep();
    began_ = true;
    for (; has_one_; has_one_ = q_.executeStep()) {
      const EventRow row = event_row(q_);
      if (number && row.number >= *number) return true;
      if (!reading.take(row)) return false;
    }
    return true;
  }

 private:
  SQLite::Statement q_;
  bool began_ = false, has_one_ = false;
};

bool is_kept(const Idset& jobs, const EventRow& row) {
  return row.job >= 0 && jobs.contains(static_cast<std::uint64_t>(row.job));
}

// Takes the events of this row's pack, and the rows between them. False: the reader has enough.
template <class IsWanted>
Result<bool> take_from_pack(SQLite::Statement& q, EventRows& between, const IsWanted& is_wanted,
                            const EventReading& reading) {
  const auto pack = pack_in(q);
  if (!pack && !reading.lost) return tl::unexpected(pack.error());
  if (!pack) {
    reading.lost(pack.error().what);
    return true;
  }
  for (const EventRow& row : pack->events.rows()) {
    if (!is_wanted(row) || !is_kept(pack->label.jobs, row)) continue;
    if (!between.take_below(row.number, reading) || !reading.take(row)) return false;
  }
  return true;
}

// The packs that may have events with these first jobs.
std::set<std::int64_t> packs_of(const SQLite::Database& journal, const FirstJobs& jobs) {
  std::set<std::int64_t> found;
  if (!has_packs(journal)) return found;
  for (const auto& [first, last] : jobs) {
    const auto packs = packs_between(journal, first, last);
    found.insert(packs.begin(), packs.end());
  }
  return found;
}

// May the pack in this row have events with these first jobs?
bool meets_jobs(SQLite::Statement& q, const FirstJobs& jobs) {
  const auto label = label_in(q);
  if (!label) return true;  // reading the pack reports the damage
  const auto ranges = label->jobs.ranges();
  return std::any_of(jobs.begin(), jobs.end(), [&ranges](const auto& asked) {
    return std::any_of(ranges.begin(), ranges.end(), [&asked](const Idset::Range& range) {
      return asked.first <= static_cast<std::int64_t>(range.last) &&
             static_cast<std::int64_t>(range.first) <= asked.second;
    });
  });
}

bool is_among(const FirstJobs& jobs, std::int64_t job) {
  return std::any_of(jobs.begin(), jobs.end(), [job](const auto& range) {
    return range.first <= job && job <= range.second;
  });
}

}  // namespace

Result<Event> event_in(const EventRow& row) {
  auto body = parse_event(row.name, row.context);
  if (!body) return tl::unexpected(body.error());
  return Event{row.time, std::move(*body)};
}

Status each_event(const SQLite::Database& journal, std::int64_t from, const EventReading& reading) {
  EventRows rows(journal, "seq >= ?");
  rows.parameters().bind(1, from);
  if (has_packs(journal)) {
    SQLite::Statement packs(journal, pack_sql("last >= ? ORDER BY last"));
    packs.bind(1, from);
    while (packs.executeStep()) {
      const auto more = take_from_pack(
          packs, rows, [from](const EventRow& row) { return row.number >= from; }, reading);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
    }
  }
  rows.take_below(std::nullopt, reading);
  return {};
}

Status each_event_of(const SQLite::Database& journal, const FirstJobs& jobs,
                     const EventReading& reading) {
  std::string where;
  for (const auto& [first, last] : jobs)
    where += fmt::format("{}job BETWEEN {} AND {}", where.empty() ? "" : " OR ", first, last);
  if (where.empty()) return {};
  EventRows rows(journal, where);
  if (const auto packs = packs_of(journal, jobs); !packs.empty()) {
    SQLite::Statement q(journal, pack_sql("last = ?"));
    for (const std::int64_t last : packs) {
      q.reset();
      q.bind(1, last);
      if (!q.executeStep() || !meets_jobs(q, jobs)) continue;
      const auto more = take_from_pack(
          q, rows, [&jobs](const EventRow& row) { return is_among(jobs, row.job); }, reading);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
    }
  }
  rows.take_below(std::nullopt, reading);
  return {};
}

std::int64_t count_events(const SQLite::Database& journal) {
  return number_from(journal, "SELECT count(*) FROM events") +
         (has_packs(journal) ? number_from(journal, "SELECT sum(count) FROM event_packs") : 0);
}

std::int64_t last_packed_event(const SQLite::Database& journal) {
  return has_packs(journal) ? number_from(journal, "SELECT max(last) FROM event_packs") : 0;
}

std::int64_t last_event_number(const SQLite::Database& journal) {
  return std::max(number_from(journal, "SELECT max(seq) FROM events"), last_packed_event(journal));
}

std::int64_t last_event_of(const SQLite::Database& journal, std::int64_t first, std::int64_t last) {
  SQLite::Statement rows(journal,
                         "SELECT coalesce(max(seq), 0) FROM events WHERE job BETWEEN ? AND ?");
  rows.bind(1, first);
  rows.bind(2, last);
  rows.executeStep();
  const std::int64_t latest = rows.getColumn(0).getInt64();
  const FirstJobs jobs = {{first, last}};
  const auto packs = packs_of(journal, jobs);
  SQLite::Statement q(journal, pack_sql("last = ?"));
  for (auto key = packs.rbegin(); key != packs.rend() && *key > latest; ++key) {
    q.reset();
    q.bind(1, *key);
    if (!q.executeStep() || !meets_jobs(q, jobs)) continue;
    const auto pack = pack_in(q);
    if (!pack) return *key;
    for (auto row = pack->events.rows().rbegin(); row != pack->events.rows().rend(); ++row)
      if (is_among(jobs, row->job) && is_kept(pack->label.jobs, *row))
        return std::max(latest, row->number);
  }
  return latest;
}

}  // namespace holon::instance
