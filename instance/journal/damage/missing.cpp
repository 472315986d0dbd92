#include "instance/journal/damage/missing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "instance/journal/rows.hpp"
#include "instance/journal/schema.hpp"
#include "instance/text.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kMostRecorded = 100'000;

// Reservations have numbers of the same row. Those that are over are known by their numbers alone;
// a journal of before that was so has their allocations.
std::set<std::int64_t> numbers_of_reservations(SQLite::Database& journal, SQLite::Database& typed) {
  std::set<std::int64_t> numbers;
  const auto take = [&numbers](SQLite::Database& db, const std::string& sql) {
    SQLite::Statement q(db, sql);
    while (q.executeStep()) numbers.insert(q.getColumn(0).getInt64());
  };
  take(typed, "SELECT id FROM reservations");
  take(typed, fmt::format("SELECT value FROM numbers WHERE key GLOB '{}*'", kReservationNumber));
  const auto last = read_number(typed, kLastReservation);
  if (last && !numbers.contains(*last))
    take(journal, fmt::format("SELECT job FROM allocs WHERE job <= {}", *last));
  if (last) numbers.insert(*last);
  return numbers;
}

}  // namespace

std::vector<Numbers> missing_numbers(SQLite::Database& journal, SQLite::Database& typed) {
  const auto reserved = numbers_of_reservations(journal, typed);
  std::vector<Numbers> missing;
  std::int64_t next = read_number(typed, kLastForgotten).value_or(0) + 1;
  const auto skip_to = [&](std::int64_t first) {
    for (auto r = reserved.lower_bound(next); next < first;) {
      const bool is_reserved = r != reserved.end() && *r < first;
      const std::int64_t stop = is_reserved ? *r++ : first;
      if (next < stop) missing.emplace_back(next, stop);
      next = is_reserved ? stop + 1 : first;
    }
  };
  SQLite::Statement known(
      journal,
      "SELECT first, first + count FROM batches UNION ALL SELECT id, id + 1 FROM jobs ORDER BY 1");
  while (known.executeStep()) {
    skip_to(known.getColumn(0).getInt64());
    next = std::max(next, known.getColumn(1).getInt64());
  }
  return missing;
}

std::string name_of_jobs(const Numbers& numbers) {
  const auto [first, stop] = numbers;
  return stop - first == 1 ? fmt::format("job {}", first)
                           : fmt::format("jobs {} to {}", first, stop - 1);
}

msg::JobRecord lost_record(const std::string& instance_path, std::uint64_t id, Time now) {
  msg::JobRecord record;
  record.path = join(instance_path, JobId(id));
  record.id = id;
  record.state = "INACTIVE";
  record.result = "FAILED";
  record.reason = "the journal has lost it: what became of it is not known";
  record.t_submit = record.t_inactive = now;
  return record;
}

void record_lost_jobs(SQLite::Database& journal, const std::vector<Numbers>& lost, Time now) {
  const auto grant = read_grant(journal);
  const std::string path = grant ? grant->path : "/";
  SQLite::Statement put(journal, "INSERT INTO jobs VALUES(?,?,?)");
  std::int64_t left = kMostRecorded;
  for (const auto& [first, stop] : lost)
    for (std::int64_t id = first; id < stop && left > 0; ++id, --left) {
      const auto record = lost_record(path, static_cast<std::uint64_t>(id), now);
      const std::string data = transport::pack(record);
      put.bind(1, id);
      put.bind(2, record.result);
      put.bind(3, data.data(), static_cast<int>(data.size()));
      put.exec();
      put.reset();
    }
}

}  // namespace holon::instance
