// Tables (all times in ms): meta; specs and batches (what was submitted); events, append-only;
// allocs (R as shares); jobs (final records of own jobs); descendants (records of jobs below);
// children (grants given); outbox.
//
// SQLite in WAL mode with synchronous=NORMAL writes a commit into the page cache and does not wait
// for the disk: the kernel keeps it whatever happens to processes. FULL adds the fsync.
// locking_mode=EXCLUSIVE spares the shared-memory index and makes a second broker on the same
// directory fail at once instead of corrupting the first one's view. SQLiteCpp throws; every public
// call catches at its edge.
#include "instance/journal.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <stdexcept>

#include "instance/database_kind.hpp"
#include "instance/messages.hpp"
#include "transport/codec.hpp"

namespace holon::instance {
namespace {

constexpr const char* kSchema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE specs(id INTEGER PRIMARY KEY, jobspec TEXT NOT NULL);
CREATE TABLE batches(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, spec INTEGER NOT NULL,
                     is_instance INTEGER NOT NULL, seq INTEGER NOT NULL);
CREATE TABLE events(seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, count INTEGER NOT NULL, time INTEGER NOT NULL,
                    name TEXT NOT NULL, context TEXT NOT NULL);
CREATE INDEX events_of_job ON events(job);
CREATE TABLE allocs(job INTEGER PRIMARY KEY, begin INTEGER NOT NULL, end INTEGER NOT NULL, shares BLOB NOT NULL);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, result TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE descendants(path TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE children(job INTEGER PRIMARY KEY, token TEXT NOT NULL, epoch INTEGER NOT NULL, uri TEXT NOT NULL);
CREATE TABLE outbox(path TEXT PRIMARY KEY) WITHOUT ROWID;
)";

constexpr DatabaseKind kKind{"journal", 0x484f4c4e /* "HOLN" */, 1, kSchema};

constexpr const char* kLastForgotten = "jobs.last-forgotten";  // meta: a number no job gets again
// Of a row of batches: not all of its jobs are INACTIVE.
constexpr const char* kUnfinished =
    "count > (SELECT count(*) FROM jobs WHERE id >= first AND id < first + count)";

template <class T>
T unpacked(const SQLite::Column& column) {
  const std::string_view bytes(static_cast<const char*>(column.getBlob()),
                               std::size_t(column.getBytes()));
  auto value = transport::unpack<T>(bytes);
  if (!value) throw std::runtime_error(to_string(value.error()));
  return std::move(*value);
}

std::int64_t number(JobId id) {
  return static_cast<std::int64_t>(id.value());
}
JobId job_id(const SQLite::Column& column) {
  return JobId(static_cast<std::uint64_t>(column.getInt64()));
}

using Labels = std::vector<std::pair<std::int64_t, std::string>>;

// Shares as one flat array: uniq_id, amount, exclusive, uniq_id, ...
std::string pack_shares(const std::vector<resource::Share>& shares, const Labels& labels) {
  std::vector<std::int64_t> flat;
  flat.reserve(shares.size() * 3);
  for (const auto& s : shares) flat.insert(flat.end(), {s.uniq_id, s.amount, s.exclusive});
  return transport::pack(std::pair(flat, labels));
}

resource::Allocation unpack_allocation(JobId job, SQLite::Statement& q) {
  resource::Allocation a{job, {q.getColumn(0).getInt64(), q.getColumn(1).getInt64()}, {}, {}};
  auto [flat, labels] = unpacked<std::pair<std::vector<std::int64_t>, Labels>>(q.getColumn(2));
  for (std::size_t i = 0; i + 2 < flat.size(); i += 3)
    a.shares.push_back({flat[i], flat[i + 1], flat[i + 2] != 0});
  a.labels = std::move(labels);
  return a;
}

void set_pragmas(SQLite::Database& db, Journal::Sync sync) {
  db.exec("PRAGMA locking_mode=EXCLUSIVE");
  db.exec("PRAGMA journal_mode=WAL");
  db.exec(sync == Journal::Sync::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  db.exec("PRAGMA wal_autocheckpoint=4000");
  db.exec("PRAGMA temp_store=MEMORY");
}

tl::unexpected<Error> open_error(const SQLite::Exception& e, const std::string& file) {
  switch (e.getErrorCode()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(Errc::busy, "another running instance uses this state directory", file);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return fail(Errc::invalid_argument, fmt::format("not a usable journal: {}", e.what()), file);
    default:
      return fail(Errc::system, e.what(), file);
  }
}

}  // namespace

struct Journal::State {
  SQLite::Database db;
  std::string file;
  bool open = false;  // a transaction is
  std::optional<Error> broken;
  std::int64_t next_seq = 1;

  SQLite::Statement begin{db, "BEGIN IMMEDIATE"};
  SQLite::Statement end{db, "COMMIT"};
  SQLite::Statement spec{db, "INSERT INTO specs(jobspec) VALUES(?)"};
  SQLite::Statement batch{db, "INSERT INTO batches VALUES(?,?,?,?,?)"};
  SQLite::Statement event{db, "INSERT INTO events VALUES(?,?,?,?,?,?)"};
  SQLite::Statement alloc{db, "INSERT OR REPLACE INTO allocs VALUES(?,?,?,?)"};
  SQLite::Statement inactive{db, "INSERT OR REPLACE INTO jobs VALUES(?,?,?)"};
  SQLite::Statement descendant{db, "INSERT OR REPLACE INTO descendants VALUES(?,?)"};
  SQLite::Statement child{db, "INSERT OR REPLACE INTO children VALUES(?,?,?,?)"};
  SQLite::Statement meta{db, "INSERT OR REPLACE INTO meta VALUES(?,?)"};
  SQLite::Statement outbox_in{db, "INSERT OR IGNORE INTO outbox VALUES(?)"};
  SQLite::Statement outbox_out{db, "DELETE FROM outbox WHERE path=?"};

  State(SQLite::Database database, std::string name)
      : db(std::move(database)), file(std::move(name)) {
    next_seq = db.execAndGet("SELECT coalesce(max(seq),0)+1 FROM events").getInt64();
  }

  // Runs one write inside the turn's transaction; remembers the first failure.
  template <class Write>
  void write(Write&& body) {
    if (broken) return;
    try {
      if (!open) run(begin);
      open = true;
      body();
    } catch (const std::exception& e) {
      broken =
          Error{Errc::system, fmt::format("the journal cannot be written: {}", e.what()), file};
    }
  }

  // Of the batch first .. first+count-1 nothing is left.
  void forget(std::int64_t first, std::int64_t count) {
    const auto drop = [&](const char* sql) {
      SQLite::Statement q(db, sql);
      q.bind(1, first);
      q.bind(2, first + count);
      q.exec();
    };
    SQLite::Statement ended(db, "SELECT record FROM jobs WHERE id >= ? AND id < ?");
    ended.bind(1, first);
    ended.bind(2, first + count);
    SQLite::Statement below(db, "DELETE FROM descendants WHERE path >= ? AND path < ?");
    while (ended.executeStep()) {
      const auto record = unpacked<msg::JobRecord>(ended.getColumn(0));
      if (!record.is_instance) continue;
      below.reset();
      below.bind(1, record.path + "/");
      below.bind(2, record.path + "0");  // the character after '/'
      below.exec();
    }
    drop("DELETE FROM events WHERE job >= ? AND job < ?");
    drop("DELETE FROM allocs WHERE job >= ? AND job < ?");
    drop("DELETE FROM children WHERE job >= ? AND job < ?");
    drop("DELETE FROM jobs WHERE id >= ? AND id < ?");
    drop("DELETE FROM specs WHERE id IN (SELECT spec FROM batches WHERE first >= ? AND first < ?)");
    drop("DELETE FROM batches WHERE first >= ? AND first < ?");
  }

  static void run(SQLite::Statement& statement) {
    statement.exec();
    statement.reset();
  }

  template <class T, class Read>
  Result<T> read(Read&& body) const {
    try {
      return body();
    } catch (const std::exception& e) {
      return fail(Errc::system, fmt::format("the journal cannot be read: {}", e.what()), file);
    }
  }
};

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;
Journal::~Journal() = default;

Result<Journal> Journal::open(const std::string& file, Sync sync) {
  try {
    SQLite::Database db(file.empty() ? ":memory:" : file,
                        SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    set_pragmas(db, sync);
    if (auto ours = adopt_schema(db, kKind, file); !ours) return tl::unexpected(ours.error());
    return Journal(std::make_unique<State>(std::move(db), file));
  } catch (const SQLite::Exception& e) {
    return open_error(e, file);
  }
}

void Journal::add_batch(const Batch& b) {
  auto& s = *state_;
  s.write([&] {
    s.spec.bindNoCopy(1, b.jobspec);
    s.run(s.spec);
    s.batch.bind(1, number(b.first));
    s.batch.bind(2, static_cast<std::int64_t>(b.count));
    s.batch.bind(3, s.db.getLastInsertRowid());
    s.batch.bind(4, b.is_instance ? 1 : 0);
    s.batch.bind(5, s.next_seq);
    s.run(s.batch);
  });
}

void Journal::add_event(JobId first, std::uint64_t count, const Event& e) {
  auto& s = *state_;
  s.write([&] {
    const std::string context = context_of(e.body);
    s.event.bind(1, s.next_seq++);
    s.event.bind(2, number(first));
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
    const std::string shares = pack_shares(a.shares, a.labels);
    s.alloc.bind(1, number(a.job));
    s.alloc.bind(2, a.when.begin);
    s.alloc.bind(3, a.when.end);
    s.alloc.bindNoCopy(4, shares.data(), static_cast<int>(shares.size()));
    s.run(s.alloc);
  });
}

void Journal::add_inactive(const msg::JobRecord& record) {
  auto& s = *state_;
  s.write([&] {
    const std::string data = transport::pack(record);
    s.inactive.bind(1, static_cast<std::int64_t>(record.id));
    s.inactive.bindNoCopy(2, record.result);
    s.inactive.bindNoCopy(3, data.data(), static_cast<int>(data.size()));
    s.run(s.inactive);
  });
}

void Journal::put_descendant(const msg::JobRecord& record) {
  auto& s = *state_;
  s.write([&] {
    const std::string data = transport::pack(record);
    s.descendant.bindNoCopy(1, record.path);
    s.descendant.bindNoCopy(2, data.data(), static_cast<int>(data.size()));
    s.run(s.descendant);
  });
}

void Journal::put_child(const ChildGrant& child) {
  auto& s = *state_;
  s.write([&] {
    s.child.bind(1, number(child.job));
    s.child.bindNoCopy(2, child.token);
    s.child.bind(3, static_cast<std::int64_t>(child.epoch));
    s.child.bindNoCopy(4, child.uri);
    s.run(s.child);
  });
}

void Journal::set_meta(std::string_view key, std::string_view value) {
  auto& s = *state_;
  s.write([&] {
    s.meta.bind(1, std::string(key));
    s.meta.bind(2, std::string(value));
    s.run(s.meta);
  });
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
  if (!s.broken && s.open) {
    s.write([&] { s.run(s.end); });
    s.open = false;
  }
  if (s.broken) return tl::unexpected(*s.broken);
  return {};
}

Result<std::uint64_t> Journal::forget_oldest(std::uint64_t keep) {
  auto& s = *state_;
  const auto all = s.db.execAndGet("SELECT count(*) FROM jobs").getInt64();
  const auto most = static_cast<std::int64_t>(keep);
  if (all <= most + most / 10) return 0;
  std::int64_t gone = 0;
  s.write([&] {
    s.meta.bind(1, kLastForgotten);
    s.meta.bind(2, std::to_string(next_id()->value() - 1));
    s.run(s.meta);
    SQLite::Statement oldest(
        s.db,
        fmt::format("SELECT first, count FROM batches WHERE NOT ({}) ORDER BY first", kUnfinished));
    std::vector<std::pair<std::int64_t, std::int64_t>> batches;
    while (oldest.executeStep() && all - gone > most) {
      batches.emplace_back(oldest.getColumn(0).getInt64(), oldest.getColumn(1).getInt64());
      gone += batches.back().second;
    }
    for (const auto& [first, count] : batches) s.forget(first, count);
  });
  if (s.broken) return tl::unexpected(*s.broken);
  return static_cast<std::uint64_t>(gone);
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

Result<Event> event_from(SQLite::Statement& q, int first_column) {
  auto body = parse_event(q.getColumn(first_column + 1).getString(),
                          q.getColumn(first_column + 2).getString());
  if (!body) return tl::unexpected(body.error());
  return Event{q.getColumn(first_column).getInt64(), std::move(*body)};
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
    SQLite::Statement q(
        state_->db,
        "SELECT job, count, time, name, context FROM events WHERE seq >= ? ORDER BY seq");
    q.bind(1, oldest.getColumn(0).getInt64());
    while (q.executeStep()) {
      const auto event = event_from(q, 2);
      if (!event) return tl::unexpected(event.error());
      take(job_id(q.getColumn(0)), static_cast<std::uint64_t>(q.getColumn(1).getInt64()), *event);
    }
    return {};
  });
}

// What agents report is of a little earlier than the events around it.
Result<Time> Journal::latest_event() const {
  return state_->read<Time>([&] {
    return state_->db
        .execAndGet(
            "SELECT coalesce(max(time), 0) FROM (SELECT time FROM events ORDER BY seq DESC LIMIT "
            "1000)")
        .getInt64();
  });
}

Result<std::optional<resource::Allocation>> Journal::allocation(JobId job) const {
  return state_->read<std::optional<resource::Allocation>>(
      [&]() -> std::optional<resource::Allocation> {
        SQLite::Statement q(state_->db, "SELECT begin, end, shares FROM allocs WHERE job=?");
        q.bind(1, number(job));
        if (!q.executeStep()) return std::nullopt;
        return unpack_allocation(job, q);
      });
}

Result<std::vector<ChildGrant>> Journal::children() const {
  return state_->read<std::vector<ChildGrant>>([&] {
    SQLite::Statement q(state_->db, "SELECT job, token, epoch, uri FROM children ORDER BY job");
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
    SQLite::Statement q(state_->db,
                        fmt::format("{}WHERE first <= ? ORDER BY first DESC LIMIT 1", kBatch));
    q.bind(1, number(job));
    if (!q.executeStep()) return std::nullopt;
    return batch_from(q);
  });
  if (!found) return tl::unexpected(found.error());
  if (!*found || !(*found)->contains(job))
    return fail(Errc::not_found, fmt::format("no job {}", job.value()));
  return std::move(**found);
}

Result<std::vector<Event>> Journal::events_of(JobId job) const {
  const auto batch = batch_of(job);
  if (!batch) return tl::unexpected(batch.error());
  return state_->read<std::vector<Event>>([&]() -> Result<std::vector<Event>> {
    // A row for many jobs carries the first of its batch; any other row is for one job.
    SQLite::Statement q(state_->db,
                        "SELECT time, name, context FROM events WHERE job IN (?, ?) AND job + "
                        "count > ? ORDER BY seq");
    q.bind(1, number(batch->first));
    q.bind(2, number(job));
    q.bind(3, number(job));
    std::vector<Event> events;
    while (q.executeStep()) {
      auto event = event_from(q, 0);
      if (!event) return tl::unexpected(event.error());
      events.push_back(std::move(*event));
    }
    return events;
  });
}

Result<std::optional<msg::JobRecord>> Journal::inactive(JobId job) const {
  return state_->read<std::optional<msg::JobRecord>>([&]() -> std::optional<msg::JobRecord> {
    SQLite::Statement q(state_->db, "SELECT record FROM jobs WHERE id=?");
    q.bind(1, number(job));
    if (!q.executeStep()) return std::nullopt;
    return unpacked<msg::JobRecord>(q.getColumn(0));
  });
}

Result<std::vector<msg::JobRecord>> Journal::inactive_jobs(std::uint64_t limit) const {
  return state_->read<std::vector<msg::JobRecord>>([&] {
    SQLite::Statement q(state_->db, "SELECT record FROM jobs ORDER BY id DESC LIMIT ?");
    q.bind(1, limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit));
    std::vector<msg::JobRecord> records;
    while (q.executeStep()) records.push_back(unpacked<msg::JobRecord>(q.getColumn(0)));
    return records;
  });
}

Status Journal::ended_after(Time after,
                            const std::function<void(const msg::JobRecord&)>& take) const {
  return state_->read<void>([&]() -> Status {
    SQLite::Statement q(state_->db,
                        "SELECT record FROM allocs JOIN jobs ON jobs.id = allocs.job WHERE "
                        "allocs.end > ? ORDER BY allocs.job");
    q.bind(1, after);
    while (q.executeStep()) take(unpacked<msg::JobRecord>(q.getColumn(0)));
    return {};
  });
}

Result<std::vector<msg::JobRecord>> Journal::descendants(std::string_view prefix) const {
  return state_->read<std::vector<msg::JobRecord>>([&] {
    std::string end(prefix);
    if (!end.empty()) ++end.back();
    SQLite::Statement q(
        state_->db, end.empty() ? "SELECT record FROM descendants ORDER BY path"
                                : "SELECT record FROM descendants WHERE path >= ? AND path < ?");
    if (!end.empty()) {
      q.bind(1, std::string(prefix));
      q.bind(2, end);
    }
    std::vector<msg::JobRecord> records;
    while (q.executeStep()) records.push_back(unpacked<msg::JobRecord>(q.getColumn(0)));
    return records;
  });
}

Result<std::optional<msg::JobRecord>> Journal::descendant(std::string_view path) const {
  return state_->read<std::optional<msg::JobRecord>>([&]() -> std::optional<msg::JobRecord> {
    SQLite::Statement q(state_->db, "SELECT record FROM descendants WHERE path=?");
    q.bind(1, std::string(path));
    if (!q.executeStep()) return std::nullopt;
    return unpacked<msg::JobRecord>(q.getColumn(0));
  });
}

Result<std::vector<JobId>> Journal::inactive_ids(JobId first, std::uint64_t count) const {
  return state_->read<std::vector<JobId>>([&] {
    SQLite::Statement q(state_->db, "SELECT id FROM jobs WHERE id >= ? AND id < ? ORDER BY id");
    q.bind(1, number(first));
    q.bind(2, number(first) + static_cast<std::int64_t>(count));
    std::vector<JobId> ids;
    while (q.executeStep()) ids.push_back(job_id(q.getColumn(0)));
    return ids;
  });
}

Result<JobId> Journal::next_id() const {
  return state_->read<JobId>([&] {
    const auto known =
        job_id(state_->db.execAndGet("SELECT coalesce(max(first + count), 1) FROM batches"));
    const auto forgotten = meta(kLastForgotten);
    return forgotten && *forgotten ? std::max(known, JobId(std::stoull(**forgotten) + 1)) : known;
  });
}

Result<std::map<std::string, std::int64_t>> Journal::inactive_counts() const {
  return state_->read<std::map<std::string, std::int64_t>>([&] {
    SQLite::Statement q(state_->db, "SELECT result, count(*) FROM jobs GROUP BY result");
    std::map<std::string, std::int64_t> counts;
    while (q.executeStep()) counts[q.getColumn(0).getString()] = q.getColumn(1).getInt64();
    return counts;
  });
}

}  // namespace holon::instance
