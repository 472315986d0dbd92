#include "instance/journal/events/packing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/idset.hpp"
#include "instance/job/array.hpp"
#include "instance/journal/events/event_pack.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kLargePack = 256 << 10;  // bytes of texts that fill a pack

// The oldest rows: those for a pack, which own their texts, and those that stay.
struct OldEvents {
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<EventRow> rows;
  std::vector<std::int64_t> left;
  std::int64_t up_to = 0;
  std::int64_t found = 0;
  std::size_t bytes = 0;
};

// Only damage explains a job number that cannot be one. A large text would take a turn too long.
bool can_be_packed(std::int64_t job, std::size_t bytes) {
  return job >= 0 && static_cast<std::uint64_t>(job) < Idset::kMax && bytes <= kLargePack;
}

OldEvents oldest_events(SQLite::Database& journal, std::int64_t after, std::int64_t before) {
  OldEvents old;
  old.texts.reserve(kEventsInPack);  // rows have views of them
  SQLite::Statement q(journal,
                      "SELECT seq, job, count, time, name, context FROM events WHERE seq > ? AND "
                      "seq < ? ORDER BY seq LIMIT ?");
  q.bind(1, after);
  q.bind(2, before);
  q.bind(3, kEventsInPack);
  for (; old.bytes <= kLargePack && q.executeStep(); ++old.found) {
    old.up_to = q.getColumn(0).getInt64();
    const std::int64_t job = q.getColumn(1).getInt64();
    const auto bytes =
        static_cast<std::size_t>(q.getColumn(4).getBytes() + q.getColumn(5).getBytes());
    old.bytes += bytes;
    if (!can_be_packed(job, bytes)) {
      old.left.push_back(old.up_to);
      continue;
    }
    const auto& texts =
        old.texts.emplace_back(q.getColumn(4).getString(), q.getColumn(5).getString());
    old.rows.push_back({old.up_to, job, q.getColumn(2).getInt64(), q.getColumn(3).getInt64(),
                        texts.first, texts.second});
  }
  return old;
}

Idset first_jobs(const std::vector<EventRow>& rows) {
  std::vector<std::int64_t> numbers;
  for (const EventRow& row : rows) numbers.push_back(row.job);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  Idset jobs;
  for (const std::int64_t number : numbers) jobs.insert(static_cast<std::uint64_t>(number));
  return jobs;
}

// Drops the rows that are in the pack now. Between a row that stays and the next there may be
// nothing to drop.
void drop_packed(SQLite::Database& journal, const OldEvents& old) {
  SQLite::Statement drop(journal, "DELETE FROM events WHERE seq BETWEEN ? AND ?");
  std::int64_t first = old.rows.front().number;
  const auto drop_below = [&](std::int64_t stop) {
    drop.reset();
    drop.bind(1, first);
    drop.bind(2, stop - 1);
    drop.exec();
    first = stop + 1;
  };
  for (const std::int64_t number : old.left)
    if (number >= first) drop_below(number);
  drop_below(old.rows.back().number + 1);
}

}  // namespace

Packing pack_oldest_events(SQLite::Database& journal, std::int64_t after, std::int64_t before) {
  const OldEvents old = oldest_events(journal, after, before);
  if (old.found < kEventsInPack && old.bytes <= kLargePack)
    return {after, kEventsInPack - old.found};
  if (old.rows.empty()) return {old.up_to, 0};
  const std::string pack = pack_events(old.rows);
  if (pack.empty()) return {after, kEventsInPack};
  put_pack(
      journal,
      {old.rows.back().number, static_cast<std::int64_t>(old.rows.size()), first_jobs(old.rows)},
      pack);
  drop_packed(journal, old);
  return {old.up_to, 0};
}

void forget_events(SQLite::Database& journal, std::int64_t first, std::int64_t last) {
  SQLite::Statement rows(journal, "DELETE FROM events WHERE job BETWEEN ? AND ?");
  rows.bind(1, first);
  rows.bind(2, last);
  rows.exec();
  SQLite::Statement q(journal,
                      fmt::format("SELECT {} FROM event_packs WHERE last = ?", kPackColumns));
  SQLite::Statement drop(journal, "DELETE FROM event_packs WHERE last = ?");
  for (const std::int64_t pack : packs_between(journal, first, last)) {
    q.reset();
    q.bind(1, pack);
    auto label = q.executeStep() ? label_in(q) : fail(Errc::not_found, "no pack");
    if (!label) continue;  // a damaged pack stays, and is reported
    const Idset had = label->jobs;
    remove_range(label->jobs, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
    if (label->jobs == had) continue;
    q.reset();
    if (!label->jobs.empty()) {
      change_jobs(journal, *label);
      continue;
    }
    drop.bind(1, pack);
    drop.exec();
    drop.reset();
  }
}

}  // namespace holon::instance
