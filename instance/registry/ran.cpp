#include "instance/registry/ran.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "instance/basics/clock.hpp"
#include "instance/job/ended.hpp"
#include "instance/journal/database_kind.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/records/past.hpp"
#include "instance/journal/schema.hpp"
#include "instance/journal/state.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/submission.hpp"
#include "instance/resources/resources.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

// What the tasks of an array have in common.
struct PastArray {
  std::int64_t id = 0;
  std::int64_t tasks = 0;
  std::shared_ptr<const Submission> submission;
  Lifecycle life;
};

Result<std::shared_ptr<const Submission>> submission_of_past(SQLite::Database& db,
                                                             const PastArray& array) {
  SQLite::Statement q(db,
                      "SELECT jobspec, is_instance FROM batches JOIN specs ON specs.id = "
                      "batches.spec WHERE first = ?");
  q.bind(1, array.id);
  if (!q.executeStep()) return fail(Errc::invalid_argument, "the journal has lost its jobspec");
  auto made = kept_submission(q.getColumn(0).getString(), q.getColumn(1).getInt() != 0);
  if (!made) return tl::unexpected(made.error());
  if (made->queue.empty()) made->queue = meta_of(db, kDefaultQueue);
  made->first = JobId(static_cast<std::uint64_t>(array.id));
  made->count = static_cast<std::uint64_t>(array.tasks);
  return std::make_shared<const Submission>(std::move(*made));
}

// nullopt: this is none.
Result<std::optional<PastArray>> past_array(SQLite::Database& db, std::int64_t id) {
  const auto tasks = tasks_of_array(db, id);
  if (!tasks) return std::nullopt;
  PastArray array{id, *tasks, {}, {}};
  auto submission = submission_of_past(db, array);
  if (!submission) return tl::unexpected(submission.error());
  array.submission = std::move(*submission);
  const auto fold = [&](const EventRow& row) {
    const auto event = row.job == id ? event_in(row) : fail(Errc::not_found, "of another job");
    if (!event) return true;
    if (auto next = apply(array.life, *event)) array.life = std::move(*next);
    return true;
  };
  const auto skip = [](const std::string&) {};  // what can be read is shown
  if (auto read = each_event_of(db, {{id, id}}, {fold, skip}); !read)
    return tl::unexpected(read.error());
  return array;
}

// How each of its tasks stood of which something has happened.
std::map<std::int64_t, Lifecycle> lives_of_past(SQLite::Database& db, const PastArray& array) {
  std::map<std::int64_t, Lifecycle> lives;
  const auto rows = [&](const char* query) {
    auto q = std::make_unique<SQLite::Statement>(db, query);
    q->bind(1, array.id);
    q->bind(2, array.tasks);
    return q;
  };
  const auto runs = rows("SELECT id, events FROM task_runs WHERE id > ?1 AND id <= ?1 + ?2");
  while (runs->executeStep())
    lives[runs->getColumn(0).getInt64()] = life_of_run(bytes_of(runs->getColumn(1)), array.life);
  const auto ends = rows("SELECT id, count, life FROM task_ends WHERE id > ?1 AND id <= ?1 + ?2");
  while (ends->executeStep()) {
    const auto life = unpack_ended(bytes_of(ends->getColumn(2)), array.life);
    const std::int64_t first = ends->getColumn(0).getInt64();
    const std::int64_t last =
        std::min(array.id + array.tasks, first + ends->getColumn(1).getInt64() - 1);
    for (std::int64_t task = first; life && task <= last; ++task) lives[task] = *life;
  }
  return lives;
}

std::vector<msg::JobRecord> records_of_past(SQLite::Database& db, const PastArray& array,
                                            const std::string& state_dir, const std::string& path) {
  const InstanceClock clock = clock_of_journal(db);
  const auto lives = lives_of_past(db, array);
  const Lifecycle waits = fresh_task(array.life);
  std::vector<msg::JobRecord> records;
  for (std::int64_t task = array.id + 1; task <= array.id + array.tasks; ++task) {
    const auto known = lives.find(task);
    const ActiveJob job{JobId(static_cast<std::uint64_t>(task)),
                        array.submission,
                        known == lives.end() ? waits : known->second,
                        {}};
    records.push_back(record_of_job(job, path, state_dir + "/output", clock));
  }
  return records;
}

}  // namespace

Result<PastMachine> past_machine(const std::string& state_dir) {
  const std::string file = journal_file(state_dir);
  try {
    const auto db = open_to_read(file);
    const auto spec =
        read_resources({meta_of(*db, "resources.kind"), meta_of(*db, "resources.text"), false});
    if (!spec) return tl::unexpected(spec.error());
    const auto store = resource::ResourceStore::load(*spec, {});
    if (!store) return tl::unexpected(store.error());
    return PastMachine{store->total("node"), store->total("core")};
  } catch (const SQLite::Exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  }
}

Result<std::vector<msg::JobRecord>> past_tasks(const std::string& state_dir,
                                               const std::string& path, std::uint64_t array,
                                               std::uint64_t most) {
  const std::string file = journal_file(state_dir);
  try {
    const auto db = open_to_read(file);
    const auto found = past_array(*db, static_cast<std::int64_t>(array));
    if (!found) return tl::unexpected(found.error());
    if (!*found || (*found)->tasks > static_cast<std::int64_t>(most))
      return std::vector<msg::JobRecord>();
    return records_of_past(*db, **found, state_dir, path);
  } catch (const SQLite::Exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  }
}

}  // namespace holon::instance
