#include "instance/journal/damage/missing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "instance/basics/text.hpp"
#include "instance/journal/rows.hpp"
#include "instance/journal/schema.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

// Reservations have numbers of the same sequence. Only the numbers of ended ones are kept; a
// journal of before that was so has their allocations.
std::set<std::int64_t> numbers_of_reservations(SQLite::Database& journal) {
  std::set<std::int64_t> numbers;
  const auto take = [&numbers, &journal](const std::string& sql) {
    SQLite::Statement q(journal, sql);
    while (q.executeStep()) numbers.insert(q.getColumn(0).getInt64());
  };
  take("SELECT id FROM reservations");
  take(fmt::format("SELECT value FROM numbers WHERE key GLOB '{}*'", kReservationNumber));
  const auto last = read_number(journal, kLastReservation);
  if (last && !numbers.contains(*last))
    take(fmt::format("SELECT job FROM allocs WHERE job <= {}", *last));
  if (last) numbers.insert(*last);
  return numbers;
}

// Numbers of tasks of graphs that have not entered yet: they enter in their order.
std::vector<Numbers> numbers_to_come(SQLite::Database& journal) {
  std::vector<Numbers> all;
  if (!journal.tableExists("graphs")) return all;
  SQLite::Statement q(journal, "SELECT first, first + numbers FROM graphs");
  while (q.executeStep()) {
    const std::int64_t first = q.getColumn(0).getInt64(), stop = q.getColumn(1).getInt64();
    const std::int64_t next = std::max(first, number_entered_before(journal, stop));
    if (next < stop) all.emplace_back(next, stop);
  }
  return all;
}

// Ascending; with the unused numbers that a repair has noted.
std::vector<Numbers> numbers_of_no_job(SQLite::Database& journal) {
  std::vector<Numbers> all = numbers_to_come(journal);
  for (const auto number : numbers_of_reservations(journal)) all.emplace_back(number, number + 1);
  SQLite::Statement q(
      journal, fmt::format("SELECT CAST(substr(key, {}) AS INTEGER), value FROM numbers WHERE key "
                           "GLOB '{}*'",
                           std::string_view(kUnusedNumbers).size() + 1, kUnusedNumbers));
  while (q.executeStep()) all.emplace_back(q.getColumn(0).getInt64(), q.getColumn(1).getInt64());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

std::int64_t number_entered_before(SQLite::Database& journal, std::int64_t stop) {
  std::int64_t end = 1;
  for (const auto& [table, key, count] : {std::tuple("batches", "first", "count"),
                                          {"task_ends", "id", "count"},
                                          {"jobs", "id", "1"},
                                          {"graph_tasks", "id", "1"}}) {
    if (!journal.tableExists(table)) continue;
    SQLite::Statement q(journal, fmt::format("SELECT {1} + {2} FROM {0} WHERE {1} < ? ORDER BY {1} "
                                             "DESC LIMIT 1",
                                             table, key, count));
    q.bind(1, stop);
    if (q.executeStep()) end = std::max(end, q.getColumn(0).getInt64());
  }
  return std::min(end, stop);
}

void note_unused(SQLite::Database& journal, const Numbers& numbers) {
  write_number(journal, kUnusedNumbers + std::to_string(numbers.first), numbers.second);
}

std::vector<Numbers> missing_numbers(SQLite::Database& journal) {
  const auto others = numbers_of_no_job(journal);
  std::vector<Numbers> missing;
  std::int64_t next = read_number(journal, kLastForgotten).value_or(0) + 1;
  const auto take = [&missing, &next](std::int64_t first, std::int64_t stop) {
    if (next < first) missing.emplace_back(next, first);
    next = std::max(next, stop);
  };
  SQLite::Statement known(
      journal,
      "SELECT first, first + count FROM batches UNION ALL SELECT id, id + 1 FROM jobs ORDER BY 1");
  auto other = others.begin();
  while (known.executeStep()) {
    const std::int64_t first = known.getColumn(0).getInt64();
    for (; other != others.end() && other->first < first; ++other)
      take(other->first, other->second);
    take(first, known.getColumn(1).getInt64());
  }
  for (; other != others.end(); ++other) take(other->first, other->second);
  return missing;
}

std::string name_of_jobs(const Numbers& numbers) {
  const auto [first, stop] = numbers;
  return stop - first == 1 ? fmt::format("job {}", first)
                           : fmt::format("jobs {} to {}", first, stop - 1);
}

msg::JobRecord lost_record(const std::string& instance_path, std::uint64_t id, Time now,
                           std::uint64_t array) {
  msg::JobRecord record;
  record.path = join(instance_path, JobId(id));
  record.id = id;
  record.state = "INACTIVE";
  record.result = "FAILED";
  const std::string what = array != 0 ? fmt::format(", a task of array {}", array) : "";
  record.reason = "the journal has lost it" + what + ": what became of it is not known";
  record.t_submit = record.t_inactive = now;
  return record;
}

void put_record(SQLite::Statement& put, const msg::JobRecord& record,
                const std::string& counted_as) {
  const std::string data = transport::pack(record);
  put.bind(1, static_cast<std::int64_t>(record.id));
  put.bind(2, counted_as);
  put.bind(3, data.data(), static_cast<int>(data.size()));
  put.exec();
  put.reset();
}

std::vector<LostNumbers> sort_out(const std::vector<Numbers>& lost,
                                  const std::vector<KeptNumbers>& kept) {
  std::vector<LostNumbers> pieces;
  auto array = kept.begin();
  for (const auto& [first, stop] : lost) {
    std::int64_t at = first;
    // `what`: how the numbers from `at` up to `to` were lost.
    const auto take = [&pieces, &at, end = stop](std::uint64_t to, LostNumbers what) {
      const auto next = std::min(static_cast<std::int64_t>(to), end);
      what.numbers = {at, next};
      if (at < next) pieces.push_back(what);
      at = std::max(at, next);
    };
    while (array != kept.end() && static_cast<std::int64_t>(array->stop) <= at) ++array;
    for (auto its = array; its != kept.end() && at < stop; ++its) {
      const auto id = static_cast<std::int64_t>(its->array);
      take(its->array, {});
      take(its->array + 1, {.is_array = true});
      take(its->first, {.array = id});
      take(its->stop, {.array = id, .is_unused = true});
    }
    take(static_cast<std::uint64_t>(stop), {});
  }
  return pieces;
}

bool is_lost_array(const std::vector<LostNumbers>& lost, std::uint64_t id) {
  const auto number = static_cast<std::int64_t>(id);
  const auto at = std::lower_bound(
      lost.begin(), lost.end(), number,
      [](const LostNumbers& one, std::int64_t what) { return one.numbers.first < what; });
  return at != lost.end() && at->is_array && at->numbers.first == number;
}

std::string name_of(const LostNumbers& lost) {
  const auto [first, stop] = lost.numbers;
  if (lost.is_array) return fmt::format("array {}", first);
  if (lost.array == 0) return name_of_jobs(lost.numbers);
  const std::string jobs = name_of_jobs(lost.numbers);
  return stop - first == 1 ? fmt::format("{}, a task of array {}", jobs, lost.array)
                           : fmt::format("{}, tasks of array {}", jobs, lost.array);
}

void record_lost_jobs(SQLite::Database& journal, const std::vector<LostNumbers>& lost, Time now) {
  const auto grant = read_grant(journal);
  const std::string path = grant ? grant->path : "/";
  SQLite::Statement put(journal, "INSERT INTO jobs VALUES(?,?,?)");
  std::int64_t left = kMostRecorded;
  for (const LostNumbers& what : lost) {
    auto [id, stop] = what.numbers;
    for (; !what.is_unused && id < stop && left > 0; ++id, --left) {
      const auto record = lost_record(path, static_cast<std::uint64_t>(id), now,
                                      static_cast<std::uint64_t>(what.array));
      put_record(put, record, what.is_array ? kNotCounted : record.result);
    }
    if (id < stop) note_unused(journal, {id, stop});
  }
}

}  // namespace holon::instance
