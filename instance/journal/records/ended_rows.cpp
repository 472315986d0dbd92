// The part of the Journal that counts jobs that are over, by user and queue; and that keeps the
// base that records are compared with.
#include <utility>

#include "instance/journal/journal.hpp"
#include "instance/journal/state.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/fields.hpp"

namespace holon::instance {
namespace {

// The members of a record that say whose it is.
struct OwnerOfRecord {
  std::string user, queue;
  std::uint64_t tasks = 0;
  HOLON_FIELDS(user, queue, tasks)
};

Result<OwnerOfRecord> owner_in(const SQLite::Column& column, JobId id, RecordReader& records) {
  const std::string_view bytes(static_cast<const char*>(column.getBlob()),
                               std::size_t(column.getBytes()));
  if (!is_difference(bytes)) return transport::unpack<OwnerOfRecord>(bytes);
  auto record = records.read(column, id);
  if (!record) return tl::unexpected(record.error());
  return OwnerOfRecord{std::move(record->user), std::move(record->queue), record->tasks};
}

constexpr std::size_t kMostBases = 64;  // batches whose jobs end side by side

}  // namespace

// A batch that a repair has cut keeps its base under its former last number.
void Journal::State::read_base(JobId first, JobId last, const msg::JobRecord& otherwise) {
  SQLite::Statement kept(
      db, "SELECT first, id, record FROM record_bases WHERE id >= ? AND first <= ? ORDER BY id");
  kept.bind(1, static_cast<std::int64_t>(first.value()));
  kept.bind(2, static_cast<std::int64_t>(last.value()));
  if (kept.executeStep()) {
    const auto number_at = [&kept](int column) {
      return JobId(static_cast<std::uint64_t>(kept.getColumn(column).getInt64()));
    };
    const auto bytes = kept.getColumn(2);
    auto record = transport::unpack<msg::JobRecord>(
        {static_cast<const char*>(bytes.getBlob()), std::size_t(bytes.getBytes())});
    if (record) bases[number_at(1)] = {number_at(0), std::move(*record)};
    return;
  }
  const std::string data = transport::pack(otherwise);
  SQLite::Statement put(db, "INSERT INTO record_bases VALUES(?,?,?)");
  put.bind(1, static_cast<std::int64_t>(last.value()));
  put.bind(2, static_cast<std::int64_t>(first.value()));
  put.bindNoCopy(3, data.data(), static_cast<int>(data.size()));
  put.exec();
  bases[last] = {first, otherwise};
}

const msg::JobRecord* Journal::State::base_for(const msg::JobRecord& record) {
  if (record.tasks > 0) return nullptr;  // an array: its tasks come behind it
  const JobId id(record.id);
  const auto covers = [&](auto base) { return base != bases.end() && base->second.first <= id; };
  if (const auto base = bases.lower_bound(id); covers(base)) return &base->second.record;
  if (!batch_known)
    batch_known.emplace(
        db, "SELECT first, count FROM batches WHERE first <= ? ORDER BY first DESC LIMIT 1");
  batch_known->bind(1, static_cast<std::int64_t>(record.id));
  std::uint64_t first = 0, count = 0;
  if (batch_known->executeStep()) {
    first = static_cast<std::uint64_t>(batch_known->getColumn(0).getInt64());
    count = static_cast<std::uint64_t>(batch_known->getColumn(1).getInt64());
  }
  batch_known->reset();
  if (count < 2 || record.id - first >= count) return nullptr;
  if (bases.size() >= kMostBases) bases.clear();
  read_base(JobId(first), JobId(first + count - 1), record);
  const auto base = bases.lower_bound(id);
  return covers(base) ? &base->second.record : nullptr;
}

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
        if (auto owner = owner_in(q.getColumn(3), row.id, state_->records)) {
          row.user = std::move(owner->user);
          row.queue = std::move(owner->queue);
          row.is_array = owner->tasks > 0 || row.result == kNotCounted;
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
        "(SELECT id FROM arrays) AND result <> '' UNION ALL SELECT result, count FROM task_ends) "
        "GROUP BY result");
    std::map<std::string, std::int64_t> counts;
    while (q.executeStep()) counts[q.getColumn(0).getString()] = q.getColumn(1).getInt64();
    return counts;
  });
}

}  // namespace holon::instance
