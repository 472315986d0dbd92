#include "instance/journal/events/packing.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/idset.hpp"
#include "instance/array/array.hpp"
#include "instance/journal/events/event_pack.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kLargePack = 256 << 10;  // bytes of texts, after which it is full

// Rows that are to be packed, with texts of their own.
struct OldEvents {
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<EventRow> rows;
  std::int64_t found = 0;  // before one was too large
};

OldEvents oldest_events(SQLite::Database& journal, std::int64_t before) {
  OldEvents old;
  old.texts.reserve(kEventsInPack);  // rows have views of them
  SQLite::Statement q(journal,
                      "SELECT seq, job, count, time, name, context FROM events WHERE seq < ? ORDER "
                      "BY seq LIMIT ?");
  q.bind(1, before);
  q.bind(2, kEventsInPack);
  std::size_t bytes = 0;
  for (; q.executeStep(); ++old.found) {
    if (bytes > kLargePack) continue;
    const auto& texts =
        old.texts.emplace_back(q.getColumn(4).getString(), q.getColumn(5).getString());
    bytes += texts.first.size() + texts.second.size();
    old.rows.push_back({q.getColumn(0).getInt64(), q.getColumn(1).getInt64(),
                        q.getColumn(2).getInt64(), q.getColumn(3).getInt64(), texts.first,
                        texts.second});
  }
  return old;
}

// Empty: one of them is no job, which only damage explains.
Idset first_jobs(const std::vector<EventRow>& rows) {
  std::vector<std::int64_t> numbers;
  for (const EventRow& row : rows) numbers.push_back(row.job);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  Idset jobs;
  if (numbers.front() < 0 || static_cast<std::uint64_t>(numbers.back()) > Idset::kMax) return jobs;
  for (const std::int64_t number : numbers) jobs.insert(static_cast<std::uint64_t>(number));
  return jobs;
}

std::int64_t as_row(std::uint64_t id) {
  return static_cast<std::int64_t>(id);
}

}  // namespace

std::int64_t pack_oldest_events(SQLite::Database& journal, std::int64_t before) {
  const OldEvents old = oldest_events(journal, before);
  if (old.found < kEventsInPack) return kEventsInPack - old.found;
  const Idset jobs = first_jobs(old.rows);
  const std::string pack = pack_events(old.rows);
  if (jobs.empty() || pack.empty()) return kEventsInPack;
  const std::int64_t last = old.rows.back().number;
  SQLite::Statement put(journal, "INSERT INTO event_packs VALUES(?,?,?,?,?,?)");
  put.bind(1, last);
  put.bind(2, static_cast<std::int64_t>(old.rows.size()));
  put.bind(3, as_row(jobs.first()));
  put.bind(4, as_row(jobs.last()));
  put.bind(5, jobs.str());
  put.bindNoCopy(6, pack.data(), static_cast<int>(pack.size()));
  put.exec();
  SQLite::Statement gone(journal, "DELETE FROM events WHERE seq <= ?");
  gone.bind(1, last);
  gone.exec();
  return 0;
}

void forget_events(SQLite::Database& journal, std::int64_t first, std::int64_t last) {
  SQLite::Statement rows(journal, "DELETE FROM events WHERE job BETWEEN ? AND ?");
  rows.bind(1, first);
  rows.bind(2, last);
  rows.exec();
  std::vector<std::pair<std::int64_t, Idset>> left;
  SQLite::Statement q(journal, "SELECT last, jobs FROM event_packs WHERE low <= ? AND high >= ?");
  q.bind(1, last);
  q.bind(2, first);
  while (q.executeStep()) {
    auto jobs = Idset::parse(q.getColumn(1).getString());
    if (!jobs) continue;  // damaged: it stays, and is told of
    const Idset had = *jobs;
    remove_range(*jobs, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
    if (*jobs != had) left.emplace_back(q.getColumn(0).getInt64(), std::move(*jobs));
  }
  SQLite::Statement keep(journal,
                         "UPDATE event_packs SET low = ?, high = ?, jobs = ? WHERE last = ?");
  SQLite::Statement drop(journal, "DELETE FROM event_packs WHERE last = ?");
  for (const auto& [pack, jobs] : left) {
    SQLite::Statement& change = jobs.empty() ? drop : keep;
    if (!jobs.empty()) {
      keep.bind(1, as_row(jobs.first()));
      keep.bind(2, as_row(jobs.last()));
      keep.bind(3, jobs.str());
    }
    change.bind(jobs.empty() ? 1 : 4, pack);
    change.exec();
    change.reset();
  }
}

}  // namespace holon::instance
