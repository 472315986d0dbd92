// The part of the Journal that says how many jobs are over, and whose they were.
#include <utility>

#include "instance/journal/journal.hpp"
#include "instance/journal/state.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/fields.hpp"

namespace holon::instance {
namespace {

// What of a record says whose it is.
struct OwnerOfRecord {
  std::string user, queue;
  std::uint64_t tasks = 0;
  HOLON_FIELDS(user, queue, tasks)
};

Result<OwnerOfRecord> owner_in(const SQLite::Column& record) {
  return transport::unpack<OwnerOfRecord>(
      {static_cast<const char*>(record.getBlob()), std::size_t(record.getBytes())});
}

}  // namespace

bool Journal::is_forgetting() const {
  return state_->forgetting.has_value();
}

Result<std::vector<EndedRow>> Journal::ended_rows(JobId after, std::size_t limit) const {
  using Rows = std::vector<EndedRow>;
  return state_->read<Rows>([&] {
    SQLite::Statement q(state_->db,
                        "SELECT id, 1 AS count, result, record FROM jobs WHERE id > ?1 UNION ALL "
                        "SELECT id, count, result, NULL FROM task_ends WHERE id > ?1 ORDER BY id "
                        "LIMIT ?2");
    q.bind(1, static_cast<std::int64_t>(after.value()));
    q.bind(2, static_cast<std::int64_t>(limit));
    Rows rows;
    while (q.executeStep()) {
      EndedRow row{JobId(static_cast<std::uint64_t>(q.getColumn(0).getInt64())),
                   static_cast<std::uint64_t>(q.getColumn(1).getInt64()),
                   q.getColumn(2).getString()};
      row.is_task = q.getColumn(3).isNull();
      if (!row.is_task)
        if (auto owner = owner_in(q.getColumn(3))) {
          row.user = std::move(owner->user);
          row.queue = std::move(owner->queue);
          row.is_array = owner->tasks > 0;
        }
      rows.push_back(std::move(row));
    }
    return rows;
  });
}

Result<std::map<std::string, std::int64_t>> Journal::inactive_counts() const {
  return state_->read<std::map<std::string, std::int64_t>>([&] {
    SQLite::Statement q(
        state_->db,
        "SELECT result, sum(n) FROM (SELECT result, 1 AS n FROM jobs WHERE id NOT IN "
        "(SELECT id FROM arrays) UNION ALL SELECT result, count FROM task_ends) "
        "GROUP BY result");
    std::map<std::string, std::int64_t> counts;
    while (q.executeStep()) counts[q.getColumn(0).getString()] = q.getColumn(1).getInt64();
    return counts;
  });
}

}  // namespace holon::instance
