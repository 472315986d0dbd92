// Rows in and out. SQLiteCpp throws; every public call catches at its edge. The tables are in
// schema.hpp, how the file is opened and watched in open.cpp.
#include "instance/journal/journal.hpp"

#include <algorithm>

#include "instance/basics/clock.hpp"
#include "instance/basics/text.hpp"
#include "instance/job/allocation_codec.hpp"
#include "instance/job/task_words.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/events/packing.hpp"
#include "instance/journal/records/record_order.hpp"
#include "instance/journal/state.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

template <class T>
Result<T> unpack_column(const SQLite::Column& column) {
  return transport::unpack<T>(
      {static_cast<const char*>(column.getBlob()), std::size_t(column.getBytes())});
}

template <class T>
T unpacked(const SQLite::Column& column) {
  auto value = unpack_column<T>(column);
  if (!value) throw std::runtime_error(to_string(value.error()));
  return std::move(*value);
}

// Replaces a record that cannot be understood: the job is named, and the others are listed.
msg::JobRecord unreadable(const std::string& path, std::uint64_t id, const Error& error) {
  msg::JobRecord record;
  record.path = path;
  record.id = id;
  record.state = "INACTIVE";
  record.result = "FAILED";
  record.reason = "its record in the journal is damaged: " + to_string(error);
  return record;
}

msg::JobRecord descendant_in(const SQLite::Column& data, const std::string& path) {
  auto record = unpack_column<msg::JobRecord>(data);
  if (record) return std::move(*record);
  const auto cut = path.rfind('/');
  const auto id =
      std::strtoull(path.substr(cut == std::string::npos ? 0 : cut + 1).c_str(), nullptr, 10);
  return unreadable(path, id, record.error());
}

std::int64_t number_of(JobId id) {
  return static_cast<std::int64_t>(id.value());
}
JobId job_id(const SQLite::Column& column) {
  return JobId(static_cast<std::uint64_t>(column.getInt64()));
}

}  // namespace

void Journal::add_event(JobId first, std::uint64_t count, const Event& e) {
  auto& s = *state_;
  s.write([&] {
    const std::string context = context_of(e.body);
    s.event.bind(1, s.next_seq++);
    s.event.bind(2, number_of(first));
    s.event.bind(3, static_cast<std::int64_t>(count));
    s.event.bind(4, e.time);
    s.event.bindNoCopy(5, name_of(e.body));
    s.event.bindNoCopy(6, context);
    s.run(s.event);
  });
}

void Journal::add_allocation(const resource::Allocation& a) {
  auto& s = *state_;
  s.write([&] {
    const std::string shares = pack_shares(a);
    s.alloc.bind(1, number_of(a.job));
    s.alloc.bind(2, a.when.begin);
    s.alloc.bind(3, a.when.end);
    s.alloc.bindNoCopy(4, shares.data(), static_cast<int>(shares.size()));
    s.run(s.alloc);
  });
}

void Journal::add_inactive(const msg::JobRecord& record) {
  auto& s = *state_;
  s.write([&] {
    const msg::JobRecord* const base = s.base_for(record);
    const std::string data =
        base != nullptr ? pack_difference(record, *base) : transport::pack(record);
    // The record of a lost array only answers those who ask for its number: it is no job beside its
    // tasks, which are counted.
    const std::string counted_as = is_lost_array(s.lost, record.id) ? kNotCounted : record.result;
    s.inactive.bind(1, static_cast<std::int64_t>(record.id));
    s.inactive.bindNoCopy(2, counted_as);
    s.inactive.bindNoCopy(3, data.data(), static_cast<int>(data.size()));
    s.run(s.inactive);
  });
}

// Is there no record of this job, or one that this record supersedes?
bool Journal::State::is_news(const msg::JobRecord& record, std::string_view data) {
  known.bindNoCopy(1, record.path);
  if (!known.executeStep()) {
    known.reset();
    return true;
  }
  const auto column = known.getColumn(0);
  const std::string_view bytes(static_cast<const char*>(column.getBlob()),
                               std::size_t(column.getBytes()));
  const bool same = bytes == data;
  const auto before = transport::unpack<msg::JobRecord>(bytes);  // a damaged one is replaced
  known.reset();
  return !same && (!before || supersedes(record, *before));
}

bool Journal::put_descendant(const msg::JobRecord& record) {
  auto& s = *state_;
  bool taken = false;
  s.write([&] {
    const std::string data = transport::pack(record);
    if (!s.is_news(record, data)) return;
    s.descendant.bindNoCopy(1, record.path);
    s.descendant.bindNoCopy(2, data.data(), static_cast<int>(data.size()));
    s.run(s.descendant);
    taken = true;
  });
  return taken;
}

ShownRecord Journal::show_descendant(msg::JobRecord record) {
  auto known = descendant(record.path);
  const bool is_known = known && *known;
  if (is_known && ((*known)->state == "INACTIVE" || is_further(**known, record))) {
    (*known)->as_of = record.as_of;
    return {std::move(**known), false};
  }
  if (is_known && !is_further(record, **known)) return {std::move(record), false};
  const Time as_of = std::exchange(record.as_of, 0);
  const bool is_news = put_descendant(record);
  record.as_of = as_of;
  return {std::move(record), is_news};
}

void Journal::put_child(const ChildGrant& child) {
  auto& s = *state_;
  s.write([&] {
    s.child.bind(1, number_of(child.job));
    s.child.bindNoCopy(2, child.token);
    s.child.bind(3, static_cast<std::int64_t>(child.epoch));
    s.child.bindNoCopy(4, child.uri);
    s.run(s.child);
  });
}

void Journal::set_meta(std::string_view key, std::string_view value) {
  auto& s = *state_;
  s.write([&] { s.put_meta(std::string(key), std::string(value)); });
}

void Journal::add_outbox(std::string_view path) {
  auto& s = *state_;
  s.write([&] {
    s.outbox_in.bind(1, std::string(path));
    s.run(s.outbox_in);
  });
}

void Journal::remove_outbox(std::string_view path) {
  auto& s = *state_;
  s.write([&] {
    s.outbox_out.bind(1, std::string(path));
    s.run(s.outbox_out);
  });
}

bool Journal::has_changes() const {
  return state_->open;
}

Status Journal::commit() {
  auto& s = *state_;
  if (s.broken || !s.open) return s.broken ? Status(tl::unexpected(*s.broken)) : Status();
  const bool changed = s.files_changed(true);
  s.write([&] {
    s.write_runs();
    s.pack_some_events();
    s.count_commit();
    s.run(s.end);
  });
  s.open = false;
  if (s.broken) return tl::unexpected(*s.broken);
  if (!s.mark) return {};
  ++s.progress.commits;
  s.progress.when = wall_clock_ms();
  for (const auto& numbers : std::exchange(s.fresh_numbers, {})) s.mark->keep(numbers);
  s.mark->write(s.progress);
  if (changed || !s.remember_files_if_same()) return rescue();
  return {};
}

msg::JobRecord Journal::State::own_record(const SQLite::Column& data, JobId id) const {
  auto record = records.read(data, id);
  if (record) return std::move(*record);
  const auto grant = read_grant(db);
  return unreadable(join(grant ? grant->path : "/", id), id.value(), record.error());
}

Result<std::optional<std::string>> Journal::meta(std::string_view key) const {
  return state_->read<std::optional<std::string>>([&]() -> std::optional<std::string> {
    SQLite::Statement q(state_->db, "SELECT value FROM meta WHERE key=?");
    q.bind(1, std::string(key));
    if (!q.executeStep()) return std::nullopt;
    return q.getColumn(0).getString();
  });
}

namespace {
constexpr const char* kBatch =
    "SELECT first, count, jobspec, is_instance, seq FROM batches JOIN specs ON specs.id = "
    "batches.spec ";
Batch batch_from(SQLite::Statement& q) {
  return {job_id(q.getColumn(0)), static_cast<std::uint64_t>(q.getColumn(1).getInt64()),
          q.getColumn(2).getString(), q.getColumn(3).getInt() != 0};
}
}  // namespace

Result<std::vector<Batch>> Journal::active_batches() const {
  return state_->read<std::vector<Batch>>([&] {
    SQLite::Statement q(state_->db, fmt::format("{}WHERE {} ORDER BY first", kBatch, kUnfinished));
    std::vector<Batch> batches;
    while (q.executeStep()) batches.push_back(batch_from(q));
    return batches;
  });
}

Status Journal::replay(const std::function<void(JobId, std::uint64_t, const Event&)>& take) const {
  return state_->read<void>([&]() -> Status {
    SQLite::Statement oldest(state_->db,
                             fmt::format("SELECT min(seq) FROM batches WHERE {}", kUnfinished));
    if (!oldest.executeStep() || oldest.getColumn(0).isNull()) return {};
    Status sound;
    const auto next = [&](const EventRow& row) {
      const auto event = event_in(row);
      if (!event) sound = tl::unexpected(event.error());
      if (event)
        take(JobId(static_cast<std::uint64_t>(row.job)), static_cast<std::uint64_t>(row.count),
             *event);
      return event.has_value();
    };
    const auto read = each_event(state_->db, oldest.getColumn(0).getInt64(), {next});
    return read ? sound : read;
  });
}

// Times from agents are a little earlier than the events around them.
Result<Time> Journal::latest_event() const {
  return state_->read<Time>([&] {
    return state_->db
        .execAndGet(
            fmt::format("SELECT max(coalesce((SELECT max(time) FROM (SELECT time FROM events ORDER "
                        "BY seq DESC LIMIT 1000)), 0), coalesce((SELECT value FROM numbers WHERE "
                        "key = '{}'), 0))",
                        kLatestOfTasks))
        .getInt64();
  });
}

Result<std::optional<resource::Allocation>> Journal::allocation(JobId job) const {
  using Found = std::optional<resource::Allocation>;
  return state_->read<Found>([&]() -> Result<Found> {
    SQLite::Statement q(state_->db, "SELECT begin, end, shares FROM allocs WHERE job=?");
    q.bind(1, number_of(job));
    if (!q.executeStep()) return Found();
    const auto shares = q.getColumn(2);
    auto allocation =
        unpack_shares(job, {q.getColumn(0).getInt64(), q.getColumn(1).getInt64()},
                      {static_cast<const char*>(shares.getBlob()), std::size_t(shares.getBytes())});
    if (!allocation) return tl::unexpected(allocation.error());
    return Found(std::move(*allocation));
  });
}

Result<std::vector<ChildGrant>> Journal::children() const {
  return state_->read<std::vector<ChildGrant>>([&] {
    SQLite::Statement q(state_->db,
                        "SELECT job, token, epoch, uri FROM children WHERE job NOT IN (SELECT id "
                        "FROM jobs) AND NOT EXISTS (SELECT 1 FROM task_ends WHERE id = (SELECT "
                        "max(id) FROM task_ends WHERE id <= job) AND job < id + count) ORDER BY "
                        "job");
    std::vector<ChildGrant> children;
    while (q.executeStep())
      children.push_back({job_id(q.getColumn(0)), q.getColumn(1).getString(),
                          static_cast<std::uint64_t>(q.getColumn(2).getInt64()),
                          q.getColumn(3).getString()});
    return children;
  });
}

Result<std::vector<std::string>> Journal::outbox() const {
  return state_->read<std::vector<std::string>>([&] {
    SQLite::Statement q(state_->db, "SELECT path FROM outbox ORDER BY path");
    std::vector<std::string> paths;
    while (q.executeStep()) paths.push_back(q.getColumn(0).getString());
    return paths;
  });
}

Result<Batch> Journal::batch_of(JobId job) const {
  auto found = state_->read<std::optional<Batch>>([&]() -> std::optional<Batch> {
    auto& known = state_->whole_batch_known;
    if (!known)
      known.emplace(state_->db,
                    fmt::format("{}WHERE first <= ? ORDER BY first DESC LIMIT 1", kBatch));
    known->tryReset();  // after a step that failed
    known->bind(1, number_of(job));
    std::optional<Batch> batch;
    if (known->executeStep()) batch = batch_from(*known);
    known->tryReset();
    return batch;
  });
  if (!found) return tl::unexpected(found.error());
  if (!*found || !(*found)->contains(job))
    return fail(Errc::not_found, fmt::format("no job {}", job.value()));
  const auto words = words_of(job, 1);
  if (!words) return tl::unexpected(words.error());
  if (!words->empty()) (*found)->jobspec = with_words((*found)->jobspec, words->front().second);
  return std::move(**found);
}

Result<std::vector<Event>> Journal::events_of(JobId job) const {
  const auto batch = batch_of(job);
  if (!batch) return tl::unexpected(batch.error());
  if (const auto array = tasks_of_array(batch->first); !array)
    return tl::unexpected(array.error());
  else if (*array && job != batch->first)
    return events_of_task(batch->first, job);
  return state_->read<std::vector<Event>>([&]() -> Result<std::vector<Event>> {
    std::vector<Event> events;
    Status sound;
    // An event of many jobs carries the first of its batch; any other is of one job.
    const auto take = [&](const EventRow& row) {
      if (row.job + row.count <= number_of(job)) return true;
      auto event = event_in(row);
      if (event)
        events.push_back(std::move(*event));
      else
        sound = tl::unexpected(event.error());
      return event.has_value();
    };
    const std::int64_t first = number_of(batch->first), own = number_of(job);
    if (auto read = each_event_of(state_->db, {{first, first}, {own, own}}, {take}); !read)
      return tl::unexpected(read.error());
    if (!sound) return tl::unexpected(sound.error());
    const auto words = words_of(job, 1);
    if (!words) return tl::unexpected(words.error());
    if (!words->empty()) add_dependency_events(events, words->front().second);
    return events;
  });
}

Result<std::optional<std::string>> Journal::result_of(JobId job) const {
  return state_->read<std::optional<std::string>>([&]() -> std::optional<std::string> {
    auto& known = state_->result_known;
    if (!known) known.emplace(state_->db, "SELECT result FROM jobs WHERE id=?");
    known->tryReset();  // after a step that failed
    known->bind(1, number_of(job));
    std::optional<std::string> result;
    if (known->executeStep()) result = known->getColumn(0).getString();
    known->tryReset();
    return result;
  });
}

Result<std::optional<msg::JobRecord>> Journal::inactive(JobId job) const {
  return state_->read<std::optional<msg::JobRecord>>([&]() -> std::optional<msg::JobRecord> {
    SQLite::Statement q(state_->db, "SELECT record FROM jobs WHERE id=?");
    q.bind(1, number_of(job));
    if (!q.executeStep()) return std::nullopt;
    return state_->own_record(q.getColumn(0), job);
  });
}

Result<std::vector<msg::JobRecord>> Journal::inactive_after(JobId job, std::size_t limit) const {
  return inactive_beside("SELECT record, id FROM jobs WHERE id > ? ORDER BY id LIMIT ?", job,
                         limit);
}

Result<std::vector<msg::JobRecord>> Journal::inactive_before(JobId job, std::size_t limit) const {
  return inactive_beside("SELECT record, id FROM jobs WHERE id < ? ORDER BY id DESC LIMIT ?", job,
                         limit);
}

Result<std::vector<msg::JobRecord>> Journal::inactive_beside(const char* query, JobId job,
                                                             std::size_t limit) const {
  return state_->read<std::vector<msg::JobRecord>>([&] {
    SQLite::Statement q(state_->db, query);
    q.bind(1, number_of(job));
    q.bind(2, static_cast<std::int64_t>(limit));
    std::vector<msg::JobRecord> records;
    while (q.executeStep())
      records.push_back(state_->own_record(q.getColumn(0), job_id(q.getColumn(1))));
    return records;
  });
}

Status Journal::ended_after(Time after,
                            const std::function<void(const msg::JobRecord&)>& take) const {
  return state_->read<void>([&]() -> Status {
    SQLite::Statement q(state_->db,
                        "SELECT record, id FROM allocs JOIN jobs ON jobs.id = allocs.job WHERE "
                        "allocs.end > ? ORDER BY allocs.job");
    q.bind(1, after);
    while (q.executeStep()) take(state_->own_record(q.getColumn(0), job_id(q.getColumn(1))));
    return {};
  });
}

Result<std::vector<msg::JobRecord>> Journal::descendants_after(std::string_view prefix,
                                                               std::string_view after,
                                                               std::size_t limit) const {
  return state_->read<std::vector<msg::JobRecord>>([&] {
    std::string end(prefix);
    ++end.back();
    SQLite::Statement q(state_->db,
                        "SELECT record, path FROM descendants WHERE path > ? AND path < ? ORDER BY "
                        "path LIMIT ?");
    q.bind(1, std::string(std::max(prefix, after)));
    q.bind(2, end);
    q.bind(3, static_cast<std::int64_t>(limit));
    std::vector<msg::JobRecord> records;
    while (q.executeStep())
      records.push_back(descendant_in(q.getColumn(0), q.getColumn(1).getString()));
    return records;
  });
}

Result<std::optional<msg::JobRecord>> Journal::descendant(std::string_view path) const {
  return state_->read<std::optional<msg::JobRecord>>([&]() -> std::optional<msg::JobRecord> {
    SQLite::Statement& q = state_->known;
    const std::string key(path);
    q.tryReset();  // after a step that failed
    q.bindNoCopy(1, key);
    auto record =
        q.executeStep() ? std::optional(descendant_in(q.getColumn(0), key)) : std::nullopt;
    q.tryReset();
    return record;
  });
}

Result<std::vector<JobId>> Journal::inactive_ids(JobId first, std::uint64_t count) const {
  return state_->read<std::vector<JobId>>([&] {
    SQLite::Statement q(state_->db, "SELECT id FROM jobs WHERE id >= ? AND id < ? ORDER BY id");
    q.bind(1, number_of(first));
    q.bind(2, number_of(first) + static_cast<std::int64_t>(count));
    std::vector<JobId> ids;
    while (q.executeStep()) ids.push_back(job_id(q.getColumn(0)));
    return ids;
  });
}

Result<JobId> Journal::next_id() const {
  return state_->read<JobId>([&] {
    const bool has_graphs = !state_->for_reading || state_->db.tableExists("graphs");
    // A job that a damaged journal has lost has a record but no batch.
    const auto known = job_id(state_->db.execAndGet(fmt::format(
        "SELECT max(coalesce((SELECT max(first + count) FROM batches), 1), coalesce((SELECT "
        "max(id) "
        "+ 1 FROM jobs), 1), coalesce((SELECT max(value) FROM numbers WHERE key GLOB '{}*'), 1), "
        "{})",
        kUnusedNumbers,
        has_graphs ? "coalesce((SELECT max(first + numbers) FROM graphs), 1)" : "1")));
    const auto forgotten = read_number(state_->db, kLastForgotten);
    return forgotten ? std::max(known, JobId(static_cast<std::uint64_t>(*forgotten) + 1)) : known;
  });
}

}  // namespace holon::instance
