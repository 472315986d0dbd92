#include "instance/journal/damage/lost_arrays.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "instance/job/array.hpp"
#include "instance/job/job.hpp"
#include "instance/journal/damage/missing.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/rows.hpp"
#include "instance/journal/schema.hpp"
#include "msg/instance.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// Numbers: the array's own, the first task's, the one after the last task's, and the one after the
// last number that it has kept.
struct LostArray {
  std::int64_t id = 0, first = 0, stop = 0, end = 0;
};

// The first number of the next known job.
std::int64_t next_job(SQLite::Database& journal, std::int64_t after_tasks, std::int64_t id) {
  SQLite::Statement q(journal,
                      "SELECT (SELECT min(first) FROM batches WHERE first > ?1), (SELECT min(id) "
                      "FROM jobs WHERE id >= ?2)");
  q.bind(1, id);
  q.bind(2, after_tasks);
  q.executeStep();
  std::int64_t next = kNone;
  for (int i = 0; i < 2; ++i)
    if (!q.getColumn(i).isNull()) next = std::min(next, q.getColumn(i).getInt64());
  return next;
}

// Where the batch with this number is lost: how many tasks more than now an array has room for that
// was extended or closed. For any other array nothing tells that it was open.
std::int64_t room_by_events(SQLite::Database& journal, const LostArray& array) {
  std::int64_t added = 0;
  bool was_open = false;
  const auto take = [&](const EventRow& row) {
    const auto event = event_in(row);
    if (!event) return true;
    const auto* extend = std::get_if<event::ArrayExtend>(&event->body);
    was_open =
        was_open || extend != nullptr || std::holds_alternative<event::ArrayClose>(event->body);
    if (extend != nullptr) added += static_cast<std::int64_t>(extend->tasks);
    return true;
  };
  const auto skip = [](const std::string&) {};  // a pack that makes no sense is reported elsewhere
  static_cast<void>(each_event_of(journal, {{array.id, array.id}}, {take, skip}));
  return was_open ? std::max<std::int64_t>(0, std::int64_t(kRoomOfOpen) - added) : 0;
}

std::vector<LostArray> lost_arrays(SQLite::Database& journal) {
  std::vector<LostArray> found;
  SQLite::Statement q(journal,
                      "SELECT id, tasks, coalesce(count, 0) FROM arrays LEFT JOIN batches ON first "
                      "= id WHERE spec IS NULL OR spec NOT IN (SELECT id FROM specs) ORDER BY id");
  while (q.executeStep()) {
    LostArray array;
    array.id = q.getColumn(0).getInt64();
    const std::int64_t tasks = q.getColumn(1).getInt64(), count = q.getColumn(2).getInt64();
    array.first = array.id + 1;
    const auto after = saturating_add(array.first, std::max<std::int64_t>(0, tasks));
    const std::int64_t next = next_job(journal, after, array.id);
    array.stop = std::min(after, next);
    const std::int64_t room = count > 0
                                  ? std::clamp<std::int64_t>(count - 1 - tasks, 0, kRoomOfOpen)
                                  : room_by_events(journal, array);
    array.end = std::min(saturating_add(array.stop, room), next);
    found.push_back(array);
  }
  return found;
}

// Makes a record for the array's number. The array is no job beside its tasks, which are counted;
// an array that was over has its own record.
void record_array(SQLite::Database& journal, const LostArray& array, const std::string& path,
                  Time now) {
  SQLite::Statement put(journal, "INSERT OR IGNORE INTO jobs VALUES(?,?,?)");
  put_record(put, lost_record(path, static_cast<std::uint64_t>(array.id), now), kNotCounted);
  SQLite::Statement of_no_job(journal, "UPDATE jobs SET result = ? WHERE id = ?");
  of_no_job.bind(1, std::string(kNotCounted));
  of_no_job.bind(2, array.id);
  of_no_job.exec();
}

// Returns how many tasks have a record.
std::int64_t record_ended_tasks(SQLite::Database& journal, const LostArray& array,
                                const std::string& path, Time now) {
  SQLite::Statement put(journal, "INSERT OR IGNORE INTO jobs VALUES(?,?,?)");
  SQLite::Statement ended(
      journal, "SELECT id, count, result FROM task_ends WHERE id >= ? AND id < ? ORDER BY id");
  ended.bind(1, array.first);
  ended.bind(2, array.stop);
  std::int64_t recorded = 0;
  while (ended.executeStep()) {
    const std::int64_t first = ended.getColumn(0).getInt64();
    const auto stop = std::min(saturating_add(first, ended.getColumn(1).getInt64()), array.stop);
    for (auto id = first; id < stop && recorded < kMostRecorded; ++id, ++recorded) {
      auto record = lost_record(path, static_cast<std::uint64_t>(id), now);
      record.result = ended.getColumn(2).getString();
      record.reason =
          fmt::format("a task of job {}, of which the journal has lost the rest", array.id);
      put_record(put, record, record.result);
    }
  }
  return recorded;
}

void know_tasks(const LostArray& array, std::vector<KeptNumbers>& kept) {
  const KeptNumbers its{static_cast<std::uint64_t>(array.id),
                        static_cast<std::uint64_t>(array.stop),
                        static_cast<std::uint64_t>(array.end)};
  const auto at =
      std::lower_bound(kept.begin(), kept.end(), its.array,
                       [](const KeptNumbers& one, std::uint64_t id) { return one.array < id; });
  if (at == kept.end() || at->array != its.array) {
    kept.insert(at, its);
    return;
  }
  at->first = std::max(at->first, its.first);
  at->stop = std::max(at->stop, its.stop);
}

void take_out(SQLite::Database& journal, const LostArray& array) {
  for (const char* table : {"task_ends", "task_runs", "arrays"}) {
    SQLite::Statement drop(journal, fmt::format("DELETE FROM {} WHERE id >= ? AND id < ?", table));
    drop.bind(1, array.id);
    drop.bind(2, array.stop);
    drop.exec();
  }
}

}  // namespace

// Journals of earlier versions have no such table.
std::vector<std::int64_t> arrays_without_batch(SQLite::Database& journal) {
  std::vector<std::int64_t> found;
  if (!journal.tableExists("arrays")) return found;
  SQLite::Statement q(
      journal, "SELECT id FROM arrays WHERE id NOT IN (SELECT first FROM batches) ORDER BY id");
  while (q.executeStep()) found.push_back(q.getColumn(0).getInt64());
  return found;
}

std::vector<std::string> settle_lost_arrays(SQLite::Database& journal, Time now,
                                            std::vector<KeptNumbers>& kept) {
  std::vector<std::string> words;
  const auto grant = read_grant(journal);
  for (const LostArray& array : lost_arrays(journal)) {
    know_tasks(array, kept);
    const std::string path = grant ? grant->path : "/";
    record_array(journal, array, path, now);
    const auto recorded = record_ended_tasks(journal, array, path, now);
    take_out(journal, array);
    if (array.stop < array.end) note_unused(journal, {array.stop, array.end});
    words.push_back(fmt::format("array {}, {} tasks; of {} the result is known", array.id,
                                array.stop - array.first, recorded));
  }
  return words;
}

}  // namespace holon::instance
