#include "instance/journal/damage/batches.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/records/past.hpp"

namespace holon::instance {
namespace {

// How many jobs a batch was submitted with, by its first event; tasks of an array count with it.
std::optional<std::int64_t> submitted(SQLite::Database& journal, std::int64_t first) {
  if (const auto tasks = tasks_of_array(journal, first)) return *tasks + 1;
  std::int64_t count = 0;
  const auto take_first = [&count](const EventRow& row) {
    count = row.count;
    return false;
  };
  // A pack that makes no sense says nothing of the batch.
  const auto read = each_event_of(journal, {{first, first}}, {take_first});
  return read && count >= 1 ? std::optional(count) : std::nullopt;
}

// `next`: the first number of the next batch.
std::optional<WrongBatch> look_at(SQLite::Database& journal, std::int64_t first, std::int64_t count,
                                  std::optional<std::int64_t> next) {
  const bool fits = count >= 1 && (!next || count <= *next - first);
  if (fits && next) return std::nullopt;
  const auto known = submitted(journal, first);
  if (fits && known.value_or(count) == count) return std::nullopt;
  // An array that is, or was, open has more numbers than tasks.
  if (fits && *known < count && tasks_of_array(journal, first)) return std::nullopt;
  if (!next) return WrongBatch{first, count, known.value_or(1)};
  return WrongBatch{first, count, std::min(known.value_or(*next - first), *next - first)};
}

}  // namespace

std::vector<WrongBatch> wrong_batches(SQLite::Database& journal) {
  std::vector<WrongBatch> wrong;
  std::optional<std::pair<std::int64_t, std::int64_t>> before;
  const auto look = [&](std::optional<std::int64_t> next) {
    if (!before) return;
    if (auto found = look_at(journal, before->first, before->second, next)) wrong.push_back(*found);
  };
  SQLite::Statement q(journal, "SELECT first, count FROM batches ORDER BY first");
  while (q.executeStep()) {
    look(q.getColumn(0).getInt64());
    before.emplace(q.getColumn(0).getInt64(), q.getColumn(1).getInt64());
  }
  look(std::nullopt);
  return wrong;
}

std::optional<WrongBatch> wrong_batch(SQLite::Database& journal, std::int64_t first,
                                      std::int64_t count) {
  SQLite::Statement q(journal, "SELECT min(first) FROM batches WHERE first > ?");
  q.bind(1, first);
  const bool is_last = !q.executeStep() || q.getColumn(0).isNull();
  return look_at(journal, first, count,
                 is_last ? std::nullopt : std::optional(q.getColumn(0).getInt64()));
}

std::vector<std::int64_t> batches_without_jobspec(SQLite::Database& journal) {
  std::vector<std::int64_t> found;
  SQLite::Statement q(journal,
                      "SELECT first FROM batches WHERE spec NOT IN (SELECT id FROM specs) ORDER BY "
                      "first");
  while (q.executeStep()) found.push_back(q.getColumn(0).getInt64());
  return found;
}

std::string describe_without_jobspec(std::int64_t first) {
  return fmt::format("batch {}: its jobspec is missing", first);
}

std::string describe(const WrongBatch& batch) {
  return fmt::format("batch {} has {} jobs, and {} at most", batch.first, batch.count, batch.most);
}

}  // namespace holon::instance
