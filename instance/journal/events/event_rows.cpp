// A pack says which first jobs it has events of, so that only packs with an event that is asked for
// are uncompressed; the events of jobs that are forgotten are in it still, and their numbers not.
#include "instance/journal/events/event_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

namespace holon::instance {
namespace {

constexpr const char* kRow = "SELECT seq, job, count, time, name, context FROM events ";

// Journals of earlier versions have none.
bool has_packs(const SQLite::Database& journal) {
  return journal.tableExists("event_packs");
}

// 0: it is NULL.
std::int64_t number_from(const SQLite::Database& journal, const char* sql) {
  SQLite::Statement q(journal, sql);
  return q.executeStep() ? q.getColumn(0).getInt64() : 0;
}

std::string_view event_text(SQLite::Statement& q, int column) {
  const SQLite::Column value = q.getColumn(column);
  const char* const text = value.getText();  // before its length is asked for
  return {text, static_cast<std::size_t>(value.getBytes())};
}

EventRow event_row(SQLite::Statement& q) {
  return {q.getColumn(0).getInt64(), q.getColumn(1).getInt64(), q.getColumn(2).getInt64(),
          q.getColumn(3).getInt64(), event_text(q, 4),          event_text(q, 5)};
}

// Columns of the statement: last, jobs, events.
struct PackRow {
  Idset jobs;
  UnpackedEvents events;
};

Result<PackRow> pack_in(SQLite::Statement& q) {
  const auto say = [&q](const Error& why) {
    return fail(Errc::invalid_argument,
                fmt::format("events up to {}: {}", q.getColumn(0).getInt64(), why.what));
  };
  auto jobs = Idset::parse(event_text(q, 1));
  if (!jobs) return say(jobs.error());
  const SQLite::Column bytes = q.getColumn(2);
  auto events = UnpackedEvents::of(
      {static_cast<const char*>(bytes.getBlob()), static_cast<std::size_t>(bytes.getBytes())});
  if (!events) return say(events.error());
  return PackRow{std::move(*jobs), std::move(*events)};
}

bool is_kept(const Idset& jobs, const EventRow& row) {
  return row.job >= 0 && jobs.contains(static_cast<std::uint64_t>(row.job));
}

// Of the pack in this row. False: that was enough.
template <class IsWanted>
Result<bool> take_from_pack(SQLite::Statement& q, const IsWanted& is_wanted,
                            const EventReading& reading) {
  const auto pack = pack_in(q);
  if (!pack && !reading.lost) return tl::unexpected(pack.error());
  if (!pack) {
    reading.lost(pack.error().what);
    return true;
  }
  for (const EventRow& row : pack->events.rows())
    if (is_wanted(row) && is_kept(pack->jobs, row) && !reading.take(row)) return false;
  return true;
}

// The packs that may have events with such first jobs.
std::set<std::int64_t> packs_of(const SQLite::Database& journal, const FirstJobs& jobs) {
  std::set<std::int64_t> found;
  if (!has_packs(journal)) return found;
  SQLite::Statement q(journal, "SELECT last FROM event_packs WHERE low <= ? AND high >= ?");
  for (const auto& [first, last] : jobs) {
    q.bind(1, last);
    q.bind(2, first);
    while (q.executeStep()) found.insert(q.getColumn(0).getInt64());
    q.reset();
  }
  return found;
}

bool meets_jobs(std::string_view text, const FirstJobs& jobs) {
  const auto set = Idset::parse(text);
  if (!set) return true;  // it is looked at, and that is found out
  const auto ranges = set->ranges();
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
  if (has_packs(journal)) {
    SQLite::Statement packs(
        journal, "SELECT last, jobs, events FROM event_packs WHERE last >= ? ORDER BY last");
    packs.bind(1, from);
    while (packs.executeStep()) {
      const auto more = take_from_pack(
          packs, [from](const EventRow& row) { return row.number >= from; }, reading);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
    }
  }
  SQLite::Statement rows(journal, fmt::format("{}WHERE seq >= ? ORDER BY seq", kRow));
  rows.bind(1, from);
  while (rows.executeStep() && reading.take(event_row(rows))) continue;
  return {};
}

Status each_event_of(const SQLite::Database& journal, const FirstJobs& jobs,
                     const EventReading& reading) {
  if (const auto packs = packs_of(journal, jobs); !packs.empty()) {
    SQLite::Statement q(journal, "SELECT last, jobs, events FROM event_packs WHERE last = ?");
    for (const std::int64_t last : packs) {
      q.reset();
      q.bind(1, last);
      if (!q.executeStep() || !meets_jobs(event_text(q, 1), jobs)) continue;
      const auto more = take_from_pack(
          q, [&jobs](const EventRow& row) { return is_among(jobs, row.job); }, reading);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
    }
  }
  std::string where;
  for (const auto& [first, last] : jobs)
    where += fmt::format("{} job BETWEEN {} AND {}", where.empty() ? "" : " OR", first, last);
  if (where.empty()) return {};
  SQLite::Statement rows(journal, fmt::format("{}WHERE{} ORDER BY seq", kRow, where));
  while (rows.executeStep() && reading.take(event_row(rows))) continue;
  return {};
}

std::int64_t count_events(const SQLite::Database& journal) {
  return number_from(journal, "SELECT count(*) FROM events") +
         (has_packs(journal) ? number_from(journal, "SELECT sum(count) FROM event_packs") : 0);
}

std::int64_t last_event_number(const SQLite::Database& journal) {
  return std::max(
      number_from(journal, "SELECT max(seq) FROM events"),
      has_packs(journal) ? number_from(journal, "SELECT max(last) FROM event_packs") : 0);
}

std::int64_t last_event_of(const SQLite::Database& journal, std::int64_t first, std::int64_t last) {
  SQLite::Statement rows(journal,
                         "SELECT coalesce(max(seq), 0) FROM events WHERE job BETWEEN ? AND ?");
  rows.bind(1, first);
  rows.bind(2, last);
  rows.executeStep();
  if (const std::int64_t latest = rows.getColumn(0).getInt64(); latest > 0) return latest;
  const FirstJobs jobs = {{first, last}};
  const auto packs = packs_of(journal, jobs);
  SQLite::Statement q(journal, "SELECT last, jobs, events FROM event_packs WHERE last = ?");
  for (auto key = packs.rbegin(); key != packs.rend(); ++key) {
    q.reset();
    q.bind(1, *key);
    if (!q.executeStep() || !meets_jobs(event_text(q, 1), jobs)) continue;
    const auto pack = pack_in(q);
    if (!pack) return *key;
    for (auto row = pack->events.rows().rbegin(); row != pack->events.rows().rend(); ++row)
      if (is_among(jobs, row->job) && is_kept(pack->jobs, *row)) return row->number;
  }
  return 0;
}

}  // namespace holon::instance
