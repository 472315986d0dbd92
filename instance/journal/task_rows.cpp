// The part of the Journal that keeps batches, and tasks of arrays and graphs. The events of a task
// are one row, written with each commit and taken away when the task is over; what is left then is
// a row of some 40 bytes, in a table that only grows at its end.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "instance/job/ended.hpp"
#include "instance/job/task_words.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/state.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

std::int64_t row_of(JobId id) {
  return static_cast<std::int64_t>(id.value());
}
JobId id_in(const SQLite::Column& column) {
  return JobId(static_cast<std::uint64_t>(column.getInt64()));
}
std::string_view blob_in(const SQLite::Column& column) {
  return {static_cast<const char*>(column.getBlob()), std::size_t(column.getBytes())};
}

std::string limit_key(JobId graph) {
  return kGraphLimit + std::to_string(graph.value());
}

}  // namespace

// The task's events; those that are written are read at the first call.
Journal::State::Run& Journal::State::run_of(JobId task) {
  const auto [run, fresh] = runs.try_emplace(task);
  if (!fresh) return run->second;
  if (!run_known) run_known.emplace(db, "SELECT events FROM task_runs WHERE id=?");
  run_known->bind(1, row_of(task));
  if (run_known->executeStep()) run->second.written = blob_in(run_known->getColumn(0));
  run_known->reset();
  return run->second;
}

void Journal::State::write_runs() {
  if (latest_of_tasks > std::exchange(latest_written, latest_of_tasks)) {
    commits.bindNoCopy(1, kLatestOfTasks);
    commits.bind(2, latest_of_tasks);
    run(commits);
  }
  if (changed_runs.empty()) return;
  if (!run_in) run_in.emplace(db, "INSERT OR REPLACE INTO task_runs VALUES(?,?)");
  for (const JobId task : changed_runs) {
    Run& r = runs.at(task);
    for (const Event& e : r.fresh) append_to_run(r.written, e);
    r.fresh.clear();
    run_in->bind(1, row_of(task));
    run_in->bindNoCopy(2, r.written.data(), static_cast<int>(r.written.size()));
    run(*run_in);
  }
  changed_runs.clear();
}

// When an array goes in several calls only the first call finds its record, and with it the owner
// of its tasks.
void Journal::State::forget_tasks(JobId first, JobId stop, Forgotten& gone) {
  SQLite::Statement q(
      db, "SELECT id, count, result FROM task_ends WHERE id >= ? AND id < ? ORDER BY id");
  q.bind(1, row_of(first));
  q.bind(2, row_of(stop));
  while (q.executeStep()) {
    const auto count = static_cast<std::uint64_t>(q.getColumn(1).getInt64());
    gone.count += count;
    gone.rows.push_back({id_in(q.getColumn(0)), count, q.getColumn(2).getString(),
                         forgotten_array.user, forgotten_array.queue, false, true});
  }
  q.reset();
  for (const char* table : {"task_ends", "task_runs", "arrays"}) {
    SQLite::Statement drop(db, fmt::format("DELETE FROM {} WHERE id >= ? AND id < ?", table));
    drop.bind(1, row_of(first));
    drop.bind(2, row_of(stop));
    drop.exec();
  }
}

void Journal::State::write_batch(const Batch& b, std::int64_t spec_row) {
  batch.bind(1, row_of(b.first));
  batch.bind(2, static_cast<std::int64_t>(b.count));
  batch.bind(3, spec_row);
  batch.bind(4, b.is_instance ? 1 : 0);
  batch.bind(5, next_seq);
  run(batch);
  given_up_to(b.first.value() + b.count);
}

void Journal::add_batch(const Batch& b) {
  auto& s = *state_;
  s.write([&] {
    s.spec.bindNoCopy(1, b.jobspec);
    s.run(s.spec);
    s.write_batch(b, s.db.getLastInsertRowid());
  });
}

void Journal::add_batch_like(const Batch& batch, JobId same) {
  auto& s = *state_;
  s.write([&] {
    SQLite::Statement q(s.db, "SELECT spec FROM batches WHERE first = ?");
    q.bind(1, row_of(same));
    if (!q.executeStep()) throw std::runtime_error("a batch that shares its jobspec is not there");
    s.write_batch(batch, q.getColumn(0).getInt64());
  });
}

void Journal::add_words(JobId task, const TaskWords& words) {
  auto& s = *state_;
  s.write([&] {
    if (!s.words_in) s.words_in.emplace(s.db, "INSERT INTO graph_tasks VALUES(?,?)");
    const std::string bytes = pack_words(words);
    s.words_in->bind(1, row_of(task));
    s.words_in->bindNoCopy(2, bytes.data(), static_cast<int>(bytes.size()));
    s.run(*s.words_in);
  });
}

void Journal::add_graph(const KeptGraph& graph) {
  auto& s = *state_;
  s.write([&] {
    const std::string ways = transport::pack(graph.ways);
    SQLite::Statement q(s.db, "INSERT INTO graphs VALUES(?,?,?,?,?)");
    q.bind(1, row_of(graph.first));
    q.bind(2, static_cast<std::int64_t>(graph.numbers));
    q.bindNoCopy(3, graph.user);
    q.bindNoCopy(4, ways.data(), static_cast<int>(ways.size()));
    q.bindNoCopy(5, graph.request.data(), static_cast<int>(graph.request.size()));
    q.exec();
    s.given_up_to(graph.first.value() + graph.numbers);
  });
  if (graph.default_limit != 0) set_number(limit_key(graph.first), graph.default_limit);
}

void Journal::remove_graph(JobId first) {
  auto& s = *state_;
  s.write([&] {
    SQLite::Statement q(s.db, "DELETE FROM graphs WHERE first = ?");
    q.bind(1, row_of(first));
    q.exec();
    SQLite::Statement limit(s.db, "DELETE FROM numbers WHERE key = ?");
    limit.bind(1, limit_key(first));
    limit.exec();
  });
}

Result<std::vector<KeptGraph>> Journal::graphs() const {
  using All = std::vector<KeptGraph>;
  return state_->read<All>([&]() -> Result<All> {
    if (state_->for_reading && !state_->db.tableExists("graphs")) return All();
    SQLite::Statement q(state_->db,
                        "SELECT first, numbers, user, ways, request FROM graphs ORDER BY first");
    SQLite::Statement limit(state_->db, "SELECT value FROM numbers WHERE key = ?");
    All all;
    while (q.executeStep()) {
      auto ways = transport::unpack<std::vector<std::uint32_t>>(blob_in(q.getColumn(3)));
      if (!ways) return fail(Errc::invalid_argument, ways.error().what);
      all.push_back({id_in(q.getColumn(0)), static_cast<std::uint64_t>(q.getColumn(1).getInt64()),
                     q.getColumn(2).getString(), std::move(*ways),
                     std::string(blob_in(q.getColumn(4)))});
      limit.reset();
      limit.bind(1, limit_key(all.back().first));
      if (limit.executeStep()) all.back().default_limit = limit.getColumn(0).getInt64();
    }
    return all;
  });
}

Result<JobId> Journal::entered_before(JobId stop) const {
  return state_->read<JobId>([&] {
    const auto end = number_entered_before(state_->db, row_of(stop));
    return JobId(static_cast<std::uint64_t>(end));
  });
}

Result<std::vector<std::pair<JobId, TaskWords>>> Journal::words_of(JobId first,
                                                                   std::uint64_t count) const {
  using All = std::vector<std::pair<JobId, TaskWords>>;
  return state_->read<All>([&]() -> Result<All> {
    All all;
    if (state_->for_reading && !state_->db.tableExists("graph_tasks")) return all;
    auto& known = state_->words_known;
    if (!known)
      known.emplace(state_->db,
                    "SELECT id, words FROM graph_tasks WHERE id >= ? AND id < ? ORDER BY id");
    SQLite::Statement& q = *known;
    q.tryReset();  // after a step that failed, or the last row looked at
    q.bind(1, row_of(first));
    q.bind(2, row_of(first) + static_cast<std::int64_t>(count));
    while (q.executeStep()) {
      auto words = unpack_words(blob_in(q.getColumn(1)));
      if (!words) return fail(Errc::invalid_argument, words.error().what);
      all.emplace_back(id_in(q.getColumn(0)), std::move(*words));
    }
    q.tryReset();
    return all;
  });
}

void Journal::State::keep_numbers(JobId array, std::uint64_t tasks, std::uint64_t numbers) {
  if (mark)
    fresh_numbers.push_back({array.value(), array.value() + 1 + tasks, array.value() + numbers});
}

void Journal::add_array(JobId array, std::uint64_t tasks) {
  auto& s = *state_;
  s.write([&] {
    SQLite::Statement q(s.db, "INSERT INTO arrays VALUES(?,?)");
    q.bind(1, row_of(array));
    q.bind(2, static_cast<std::int64_t>(tasks));
    q.exec();
    SQLite::Statement batch(s.db, "SELECT count FROM batches WHERE first = ?");
    batch.bind(1, row_of(array));
    if (!batch.executeStep()) return;
    const auto numbers = static_cast<std::uint64_t>(batch.getColumn(0).getInt64());
    if (numbers > tasks + 1) s.keep_numbers(array, tasks, numbers);
  });
}

void Journal::extend_array(JobId array, std::uint64_t tasks, const std::string& jobspec) {
  auto& s = *state_;
  s.write([&] {
    SQLite::Statement known(s.db, "SELECT spec, count FROM batches WHERE first = ?");
    known.bind(1, row_of(array));
    if (!known.executeStep()) throw std::runtime_error("an array that is to grow is not there");
    const std::int64_t old = known.getColumn(0).getInt64();
    s.keep_numbers(array, tasks, static_cast<std::uint64_t>(known.getColumn(1).getInt64()));
    s.spec.bindNoCopy(1, jobspec);
    s.run(s.spec);
    const std::int64_t fresh = s.db.getLastInsertRowid();
    for (const auto& [text, value, key] :
         {std::tuple("UPDATE batches SET spec = ? WHERE first = ?", fresh, row_of(array)),
          std::tuple("UPDATE arrays SET tasks = ? WHERE id = ?", static_cast<std::int64_t>(tasks),
                     row_of(array)),
          std::tuple("DELETE FROM specs WHERE id = ?1 AND ?1 = ?2 AND NOT EXISTS (SELECT 1 FROM "
                     "batches WHERE spec = ?1)",
                     old, old)}) {
      SQLite::Statement q(s.db, text);
      q.bind(1, value);
      q.bind(2, key);
      q.exec();
    }
  });
}

void Journal::add_task_event(JobId task, const Event& event) {
  auto& s = *state_;
  s.write([&] {
    s.run_of(task).fresh.push_back(event);
    s.changed_runs.insert(task);
    s.latest_of_tasks = std::max(s.latest_of_tasks, event.time);
  });
}

void Journal::add_ended_tasks(const EndedTasks& tasks, const std::string& result) {
  auto& s = *state_;
  s.write([&] {
    if (!s.end_in) s.end_in.emplace(s.db, "INSERT OR REPLACE INTO task_ends VALUES(?,?,?,?)");
    s.end_in->bind(1, row_of(tasks.first));
    s.end_in->bind(2, static_cast<std::int64_t>(tasks.count));
    s.end_in->bindNoCopy(3, result);
    s.end_in->bindNoCopy(4, tasks.life.data(), static_cast<int>(tasks.life.size()));
    s.run(*s.end_in);
    if (tasks.count > 1) return;  // several tasks together never had events
    const bool is_written = !s.run_of(tasks.first).written.empty();
    s.runs.erase(tasks.first);
    s.changed_runs.erase(tasks.first);
    if (is_written)
      for (auto* const gone : {&s.run_out, &s.alloc_out}) {
        if (!*gone)
          gone->emplace(s.db, gone == &s.run_out ? "DELETE FROM task_runs WHERE id=?"
                                                 : "DELETE FROM allocs WHERE job=?");
        (*gone)->bind(1, row_of(tasks.first));
        s.run(**gone);
      }
  });
}

Result<std::optional<std::uint64_t>> Journal::tasks_of_array(JobId array) const {
  using Found = std::optional<std::uint64_t>;
  return state_->read<Found>([&]() -> Found {
    auto& known = state_->array_known;
    if (!known) known.emplace(state_->db, "SELECT tasks FROM arrays WHERE id=?");
    known->tryReset();  // after a step that failed
    known->bind(1, row_of(array));
    Found found;
    if (known->executeStep()) found = static_cast<std::uint64_t>(known->getColumn(0).getInt64());
    known->tryReset();
    return found;
  });
}

Result<std::vector<JobId>> Journal::arrays_over() const {
  return state_->read<std::vector<JobId>>([&] {
    SQLite::Statement q(state_->db,
                        "SELECT id FROM arrays WHERE id IN (SELECT id FROM jobs) ORDER BY id");
    std::vector<JobId> ids;
    while (q.executeStep()) ids.push_back(id_in(q.getColumn(0)));
    return ids;
  });
}

Status Journal::each_ended(
    JobId first, std::uint64_t count,
    const std::function<void(const EndedTasks&, const std::string&)>& take) const {
  return state_->read<void>([&]() -> Status {
    SQLite::Statement q(state_->db,
                        "SELECT id, count, result, life FROM task_ends WHERE id >= ? AND id < ? "
                        "ORDER BY id");
    q.bind(1, row_of(first));
    q.bind(2, row_of(first) + static_cast<std::int64_t>(count));
    while (q.executeStep())
      take({id_in(q.getColumn(0)), static_cast<std::uint64_t>(q.getColumn(1).getInt64()),
            std::string(blob_in(q.getColumn(3)))},
           q.getColumn(2).getString());
    return {};
  });
}

Result<std::vector<EndedTasks>> Journal::ended_tasks(JobId first, std::uint64_t count,
                                                     std::size_t limit) const {
  using Rows = std::vector<EndedTasks>;
  return state_->read<Rows>([&] {
    SQLite::Statement q(
        state_->db,
        "SELECT id, count, life FROM task_ends WHERE id >= ? AND id < ? ORDER BY id "
        "LIMIT ?");
    q.bind(1, row_of(first));
    q.bind(2, row_of(first) + static_cast<std::int64_t>(count));
    q.bind(3, static_cast<std::int64_t>(limit));
    Rows rows;
    while (q.executeStep())
      rows.push_back({id_in(q.getColumn(0)), static_cast<std::uint64_t>(q.getColumn(1).getInt64()),
                      std::string(blob_in(q.getColumn(2)))});
    return rows;
  });
}

Result<std::vector<TaskRun>> Journal::runs_of(JobId first, std::uint64_t count) const {
  using Runs = std::vector<TaskRun>;
  return state_->read<Runs>([&]() -> Result<Runs> {
    state_->write_runs();
    SQLite::Statement q(state_->db,
                        "SELECT id, events FROM task_runs WHERE id >= ? AND id < ? ORDER BY id");
    q.bind(1, row_of(first));
    q.bind(2, row_of(first) + static_cast<std::int64_t>(count));
    Runs runs;
    while (q.executeStep()) {
      auto events = events_in_run(blob_in(q.getColumn(1)));
      if (!events) return tl::unexpected(events.error());
      runs.push_back({id_in(q.getColumn(0)), std::move(*events)});
    }
    return runs;
  });
}

Result<std::optional<EndedTasks>> Journal::ended_task(JobId task) const {
  using Found = std::optional<EndedTasks>;
  return state_->read<Found>([&]() -> Found {
    auto& known = state_->end_known;
    if (!known)
      known.emplace(state_->db,
                    "SELECT id, count, life FROM task_ends WHERE id <= ? ORDER BY id DESC LIMIT 1");
    known->bind(1, row_of(task));
    Found found;
    if (known->executeStep())
      found = EndedTasks{id_in(known->getColumn(0)),
                         static_cast<std::uint64_t>(known->getColumn(1).getInt64()),
                         std::string(blob_in(known->getColumn(2)))};
    known->reset();
    if (found && task.value() - found->first.value() >= found->count) found.reset();
    return found;
  });
}

// The events of its array that also happened to the task, and its own.
Result<std::vector<Event>> Journal::events_of_task(JobId array, JobId task) const {
  auto shared = events_of(array);
  if (!shared) return shared;
  std::vector<Event> events;
  Lifecycle life;
  for (auto& event : *shared) {
    const bool is_own = std::holds_alternative<event::ArrayStart>(event.body) ||
                        std::holds_alternative<event::ArrayFinish>(event.body) ||
                        std::holds_alternative<event::ArrayExtend>(event.body) ||
                        std::holds_alternative<event::ArrayClose>(event.body) ||
                        std::holds_alternative<event::Exception>(event.body) ||
                        std::holds_alternative<event::Clean>(event.body);
    if (is_own) continue;
    if (auto next = apply(life, event)) life = std::move(*next);
    events.push_back(std::move(event));
  }
  const auto ended = ended_task(task);
  if (!ended) return tl::unexpected(ended.error());
  if (!*ended) {
    auto runs = runs_of(task, 1);
    if (!runs) return tl::unexpected(runs.error());
    for (auto& run : *runs)
      for (auto& event : run.events) events.push_back(std::move(event));
    return events;
  }
  const auto over = unpack_ended((*ended)->life, life);
  if (!over) return tl::unexpected(over.error());
  std::erase_if(events, [&](const Event& event) { return event.time > over->t_inactive; });
  for (auto& event : events_of_ended(*over)) events.push_back(std::move(event));
  return events;
}

}  // namespace holon::instance
