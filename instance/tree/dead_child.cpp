// Instances are visited parents first, children by number; each yields its jobs that are over, its
// other jobs (their events are folded again), and its records of jobs below. A place to continue is
// "PATH|PART|KEY": the last key that was read in that part of that instance's journal.
//
// The journal is opened as its broker opens it, which fails while that broker lives, and is never
// written: the reader sees the committed frames of the write-ahead log and leaves them there.
#include "instance/tree/dead_child.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>

#include "instance/basics/clock.hpp"
#include "instance/basics/text.hpp"
#include "instance/job/allocation_codec.hpp"
#include "instance/job/array.hpp"
#include "instance/job/ended.hpp"
#include "instance/job/task_words.hpp"
#include "instance/journal/damage/batches.hpp"
#include "instance/journal/database_kind.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/records/ended_record.hpp"
#include "instance/journal/records/past.hpp"
#include "instance/journal/schema.hpp"
#include "instance/journal/state.hpp"
#include "instance/manager/manager.hpp"
#include "instance/output/output_log.hpp"
#include "instance/process/state_claim.hpp"
#include "instance/request/submission.hpp"
#include "instance/resources/resources.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::size_t kJobsAtOnce = 4000;
constexpr std::size_t kBytesAtOnce = 8 << 20;  // a message may have 64 MiB
constexpr std::int64_t kIdsAtOnce = 1000;      // jobs whose events are folded together
constexpr std::size_t kProblems = 100;         // reported in one piece

using Database = std::unique_ptr<SQLite::Database>;

// Throws what SQLiteCpp throws.
Database open_beside_its_owner(const std::string& file, milliseconds patience) {
  auto db = std::make_unique<SQLite::Database>(file, SQLite::OPEN_READWRITE);
  db->setBusyTimeout(static_cast<int>(patience.count()));
  sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  for (const char* setting : {"locking_mode=EXCLUSIVE", "query_only=ON", "temp_store=MEMORY",
                              "hard_heap_limit=268435456"})
    db->exec(fmt::format("PRAGMA {}", setting));
  return db;
}

bool is_busy(const SQLite::Exception& e) {
  return e.getErrorCode() == SQLITE_BUSY || e.getErrorCode() == SQLITE_LOCKED;
}

// Is any of these jobs a task of a graph? Journals of earlier versions have no such table.
bool words_between(SQLite::Database& db, std::int64_t first, std::int64_t stop) {
  if (!db.tableExists("graph_tasks")) return false;
  SQLite::Statement q(db, "SELECT 1 FROM graph_tasks WHERE id >= ? AND id < ? LIMIT 1");
  q.bind(1, first);
  q.bind(2, stop);
  return q.executeStep();
}

// The own words of a task of a graph; nullopt: the job is none.
std::optional<TaskWords> words_in(SQLite::Database& db, std::int64_t job) {
  if (!db.tableExists("graph_tasks")) return std::nullopt;
  SQLite::Statement q(db, "SELECT words FROM graph_tasks WHERE id = ?");
  q.bind(1, job);
  if (!q.executeStep()) return std::nullopt;
  auto words = unpack_words(bytes_of(q.getColumn(0)));
  return words ? std::optional(std::move(*words)) : std::nullopt;
}

std::int64_t number_in(const std::string& key) {
  return std::strtoll(key.c_str(), nullptr, 10);
}

// Numbers of the children's folders. A symbolic link does not count: it could lead back up.
std::set<std::uint64_t> children_in(const fs::path& state_dir, std::error_code& error) {
  std::set<std::uint64_t> ids;
  for (auto entry = fs::directory_iterator(state_dir / "children", error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (entry->symlink_status(error).type() != fs::file_type::directory) continue;
    if (const auto path = resolve("/", name); path && *path == "/" + name)
      ids.insert(std::stoull(name));
  }
  if (error == std::errc::no_such_file_or_directory) error.clear();
  return ids;
}

// The result of a job that is ending: its instance did not live to report it.
std::string result_to_come(Lifecycle life) {
  if (life.state != JobState::cleanup) return {};
  life.state = JobState::inactive;
  return result_of(life);
}

// The lives of a journal's jobs that are not over. Jobs of neighbouring batches are read together:
// their events are in the same packs.
class Lives {
 public:
  using ById = std::map<std::int64_t, Lifecycle>;

  // `at_once`: how many numbers are read together. `lost` is told what cannot be read, which is no
  // error.
  Lives(SQLite::Database& journal, std::int64_t at_once,
        std::function<void(const std::string&)> lost)
      : journal_(journal), at_once_(at_once), lost_(std::move(lost)) {}

  // The lives of jobs begin .. end-1, at most `at_once`, of the batch that begins with `first`.
  // Each job once, in the order of their numbers.
  ById of(std::int64_t first, std::int64_t begin, std::int64_t end) {
    if (begin < begin_ || end > end_) read(first, begin);
    ById found;
    for (auto next = read_.lower_bound(begin); next != read_.end() && next->first < end;)
      found.insert(found.end(), read_.extract(next++));
    return found;
  }

 private:
  void read(std::int64_t first, std::int64_t begin) {
    begin_ = begin;
    end_ = saturating_add(begin, at_once_);
    read_.clear();
    for (auto id = begin_; id < end_; ++id) read_.emplace_hint(read_.end(), id, Lifecycle());
    SQLite::Statement over(journal_, "SELECT id FROM jobs WHERE id >= ? AND id < ?");
    over.bind(1, begin_);
    over.bind(2, end_);
    while (over.executeStep()) read_.erase(over.getColumn(0).getInt64());
    static_cast<void>(each_event_of(journal_, {{first, first}, {begin_, end_ - 1}},
                                    {[this](const EventRow& row) { return take(row); }, lost_}));
  }

  // An event of many jobs carries the first of its batch; any other is of one job.
  bool take(const EventRow& row) {
    const auto after = saturating_add(row.job, row.count);
    auto life = read_.lower_bound(row.job);
    if (life == read_.end() || life->first >= after) return true;
    const auto event = event_in(row);
    for (; event && life != read_.end() && life->first < after; ++life)
      if (auto next = apply(life->second, *event)) life->second = std::move(*next);
    return true;
  }

  SQLite::Database& journal_;
  const std::int64_t at_once_;
  std::function<void(const std::string&)> lost_;
  std::int64_t begin_ = 0, end_ = 0;  // what has been read ...
  ById read_;                         // ... and was not asked for yet
};

class JournalReader {
 public:
  JournalReader(std::string top, const std::string& from, milliseconds patience)
      : top_(std::move(top)), patience_(patience) {
    const auto part = from.find('|'), key = from.find('|', part + 1);
    if (part == std::string::npos || key == std::string::npos) return;
    from_ = From{from.substr(0, part), std::atoi(from.c_str() + part + 1), from.substr(key + 1)};
  }

  void visit(const fs::path& state_dir, const std::string& path) {
    const Database db = open(state_dir, path);
    if (found_.busy) return;
    if (db && (!from_ || from_->path == path)) read_all(*db, state_dir, path);
    if (from_ && from_->path == path) from_.reset();
    std::error_code error;
    const auto children = children_in(state_dir, error);
    if (error) problem(path, "the folder of its children", error.message());
    for (const std::uint64_t child : children) {
      if (is_full_ || found_.busy) return;
      const auto towards = from_ ? child_towards(path, from_->path) : std::nullopt;
      if (towards && child < towards->value()) continue;
      if (towards && child > towards->value()) from_.reset();  // its folder is gone
      if (db && is_over(*db, child)) continue;
      visit(state_dir / "children" / std::to_string(child), join(path, JobId(child)));
    }
  }

  msg::DeadChild take() { return std::move(found_); }

 private:
  struct From {
    std::string path;
    int part = 0;
    std::string key;
  };

  Database open(const fs::path& state_dir, const std::string& path) {
    const fs::path file = state_dir / "journal.db";
    std::error_code error;
    const bool is_there = fs::exists(file, error);
    if (error) problem(path, "its journal", error.message());
    if (!is_there) return nullptr;
    // A link leads elsewhere, perhaps to the journal of whoever reads this.
    if (fs::symlink_status(file, error).type() != fs::file_type::regular) {
      problem(path, "its journal", "it is a link or no file");
      return nullptr;
    }
    // An instance whose broker has just died lives on, and may take jobs that nobody would read.
    found_.busy = found_.claimed = is_claimed(state_dir);
    if (found_.busy) return nullptr;
    try {
      auto db = open_beside_its_owner(file.string(), patience_);
      // A broker that was killed before it wrote anything has left no tables.
      if (db->execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0) return nullptr;
      if (path == top_) found_.is_there = true;
      return db;
    } catch (const SQLite::Exception& e) {
      found_.busy = is_busy(e);
      if (!found_.busy) problem(path, "its journal", e.what());
      return nullptr;
    }
  }

  void problem(const std::string& path, const std::string& what, const std::string& why) {
    if (found_.problems.size() < kProblems)
      found_.problems.push_back(fmt::format("of instance {}, {}: {}", path, what, why));
  }

  // Once a child's job is over, its parent has taken its records over.
  static bool is_over(SQLite::Database& db, std::uint64_t child) {
    try {
      const auto has = [&](const char* query) {
        SQLite::Statement q(db, query);
        q.bind(1, static_cast<std::int64_t>(child));
        return q.executeStep();
      };
      if (has("SELECT 1 FROM jobs WHERE id=?")) return true;
      // It may have been a task of an array.
      return db.tableExists("task_ends") &&
             has("SELECT 1 FROM (SELECT id, count FROM task_ends WHERE id <= ?1 ORDER BY id DESC "
                 "LIMIT 1) WHERE ?1 < id + count");
    } catch (const SQLite::Exception&) {
      return false;
    }
  }

  void read_all(SQLite::Database& db, const fs::path& state_dir, const std::string& path) {
    using Part = void (JournalReader::*)(SQLite::Database&, const Where&, const std::string&);
    constexpr std::pair<Part, const char*> kParts[] = {
        {&JournalReader::read_ended, "its jobs that are over"},
        {&JournalReader::read_active, "its jobs that were not over"},
        {&JournalReader::read_descendants, "the jobs below it"}};
    const Where where{state_dir, path};
    const int first = from_ ? from_->part : 0;
    for (part_ = first; part_ < 3 && !is_full_ && !found_.busy; ++part_) {
      const std::string after = from_ && part_ == first ? from_->key : "";
      const auto [read, what] = kParts[part_];
      try {
        (this->*read)(db, where, after);
      } catch (const std::exception& e) {
        const auto* sql = dynamic_cast<const SQLite::Exception*>(&e);
        if (sql != nullptr && is_busy(*sql))
          found_.busy = true;
        else
          problem(path, what, e.what());
      }
    }
  }

  struct Where {
    const fs::path& state_dir;
    const std::string& path;
  };

  // False: the piece is full, and the next one continues after `key`.
  bool add(msg::JobRecord record, const Where& where, const std::string& key) {
    bytes_ += 1000 + record.name.size() + record.reason.size() + record.nodelist.size() +
              record.output.size() + record.error.size() + 9 * record.pids.size();
    found_.jobs.push_back(std::move(record));
    is_full_ = found_.jobs.size() >= kJobsAtOnce || bytes_ >= kBytesAtOnce;
    if (is_full_) found_.next = fmt::format("{}|{}|{}", where.path, part_, key);
    return !is_full_;
  }

  void read_ended(SQLite::Database& db, const Where& where, const std::string& after) {
    SQLite::Statement q(db, "SELECT id, result, record FROM jobs WHERE id > ? ORDER BY id");
    q.bind(1, number_in(after));
    RecordReader records(db);
    while (q.executeStep()) {
      const auto id = static_cast<std::uint64_t>(q.getColumn(0).getInt64());
      auto record = records.read(q.getColumn(2), JobId(id));
      if (!record) {
        problem(where.path, fmt::format("the record of job {}", id), to_string(record.error()));
        record = msg::JobRecord();
        record->path = join(where.path, JobId(id));
        record->id = id;
        record->state = "INACTIVE";
        record->result = q.getColumn(1).getString();
      }
      if (!add(std::move(*record), where, std::to_string(id))) return;
    }
  }

  void read_descendants(SQLite::Database& db, const Where& where, const std::string& after) {
    SQLite::Statement q(db, "SELECT path, record FROM descendants WHERE path > ? ORDER BY path");
    q.bind(1, after);
    while (q.executeStep()) {
      const std::string job = q.getColumn(0).getString();
      auto record = transport::unpack<msg::JobRecord>(bytes_of(q.getColumn(1)));
      if (!record)
        problem(where.path, "the record of " + job, to_string(record.error()));
      else if (!add(std::move(*record), where, job))
        return;
    }
  }

  void read_active(SQLite::Database& db, const Where& where, const std::string& after) {
    const std::int64_t done = number_in(after);
    const InstanceClock clock = clock_of_journal(db);
    const auto lost = [this, &where](const std::string& what) {
      problem(where.path, "its jobs that were not over", what);
    };
    Lives lives(db, kIdsAtOnce, lost);
    Lives arrays(db, 1, lost);  // the numbers behind an array are those of its tasks
    SQLite::Statement q(
        db,
        "SELECT first, count, jobspec, is_instance FROM batches JOIN specs ON "
        "specs.id = batches.spec WHERE count < 1 OR (first + count - 1 > ? AND count > "
        "(SELECT count(*) FROM jobs WHERE id >= first AND id < first + count)) "
        "ORDER BY first");
    q.bind(1, done);
    while (q.executeStep()) {
      const std::int64_t first = q.getColumn(0).getInt64();
      const auto wrong = wrong_batch(db, first, q.getColumn(1).getInt64());
      if (wrong && first > done)
        problem(where.path, "its jobs that were not over", describe(*wrong));
      const auto end = first + (wrong ? wrong->most : q.getColumn(1).getInt64());
      const auto tasks = tasks_of_array(db, first);
      const bool is_array = tasks.has_value();
      if (is_array && first <= done) continue;
      auto made = kept_submission(q.getColumn(2).getString(), q.getColumn(3).getInt() != 0);
      if (!made) {  // its state can still be reported
        problem(where.path, fmt::format("the jobspec of job {}", first), to_string(made.error()));
        made = Submission();
      }
      if (made->queue.empty()) made->queue = meta_of(db, kDefaultQueue);
      if (!is_array) made->wishes.array.reset();
      made->first = JobId(static_cast<std::uint64_t>(first));
      if (is_array) made->count = static_cast<std::uint64_t>(*tasks);
      const auto submission = std::make_shared<const Submission>(std::move(*made));
      // An array is reported as a whole.
      const auto stop = is_array ? std::min(end, first + 1) : end;
      const bool has_words = words_between(db, first, end);
      for (auto id = std::max(first, done + 1); id < stop; id += kIdsAtOnce)
        for (auto& [job, life] :
             (is_array ? arrays : lives).of(first, id, std::min(stop, id + kIdsAtOnce)))
          if (auto record =
                  record_of(where, clock, job,
                            has_words ? submission_for(db, job, submission) : submission, life);
              !add(is_array ? with_tasks(db, std::move(record), life) : std::move(record), where,
                   std::to_string(job)))
            return;
    }
  }

  // A task of a graph has words of its own.
  static std::shared_ptr<const Submission> submission_for(
      SQLite::Database& db, std::int64_t job, const std::shared_ptr<const Submission>& shared) {
    const auto words = shared->spec ? words_in(db, job) : std::nullopt;
    if (!words) return shared;
    auto own = with_words(*shared, JobId(static_cast<std::uint64_t>(job)), *words);
    return own ? std::make_shared<const Submission>(std::move(*own)) : shared;
  }

  // Adds the counts of the array's tasks to its record.
  static msg::JobRecord with_tasks(SQLite::Database& db, msg::JobRecord record,
                                   const Lifecycle& array) {
    JobArray counted;
    SQLite::Statement ended(db,
                            "SELECT count, life FROM task_ends WHERE id > ?1 AND id <= ?1 + ?2");
    SQLite::Statement runs(db, "SELECT events FROM task_runs WHERE id > ?1 AND id <= ?1 + ?2");
    for (auto* const q : {&ended, &runs}) {
      q->bind(1, static_cast<std::int64_t>(record.id));
      q->bind(2, static_cast<std::int64_t>(record.tasks));
    }
    while (ended.executeStep())
      if (const auto life = unpack_ended(bytes_of(ended.getColumn(1)), array))
        counted.add_ended(*life, static_cast<std::uint64_t>(ended.getColumn(0).getInt64()));
    counted.show_ended(record);
    while (runs.executeStep())
      record.tasks_running += !is_pending(life_of_run(bytes_of(runs.getColumn(0)), array).state);
    const auto known = record.tasks_completed + record.tasks_failed + record.tasks_cancelled +
                       record.tasks_running;
    record.tasks_pending = record.tasks - std::min(record.tasks, known);
    return record;
  }

  static msg::JobRecord record_of(const Where& where, const InstanceClock& clock, std::int64_t id,
                                  const std::shared_ptr<const Submission>& submission,
                                  const Lifecycle& life) {
    ActiveJob job{JobId(static_cast<std::uint64_t>(id)), submission, life, {}};
    if (life.default_limit != 0) {
      Submission limited = *submission;
      set_default_limit(limited, life.default_limit);
      job.submission = std::make_shared<const Submission>(std::move(limited));
    }
    msg::JobRecord record =
        record_of_job(job, where.path, (where.state_dir / "output").string(), clock);
    record.result = result_to_come(job.life);
    return record;
  }

  std::string top_;  // the instance to be read
  milliseconds patience_;
  msg::DeadChild found_;
  std::optional<From> from_;  // nullopt: that place was reached
  int part_ = 0;
  std::size_t bytes_ = 0;
  bool is_full_ = false;
};

// R of the job, as the instance would have written it; "" if it never had resources.
std::string R_of(SQLite::Database& db, const InstanceClock& clock, std::uint64_t job) {
  SQLite::Statement q(db, "SELECT begin, end, shares FROM allocs WHERE job=?");
  q.bind(1, static_cast<std::int64_t>(job));
  if (!q.executeStep()) return {};
  const Interval when{clock.wall(q.getColumn(0).getInt64()), clock.wall(q.getColumn(1).getInt64())};
  const auto allocation = unpack_shares(JobId(job), when, bytes_of(q.getColumn(2)));
  const auto spec =
      read_resources({meta_of(db, "resources.kind"), meta_of(db, "resources.text"), false});
  if (!allocation || !spec) return {};
  const auto graph = resource::ResourceGraph::build(*spec);
  const auto text = graph ? R_text(*graph, *allocation) : tl::unexpected(graph.error());
  return text ? *text : std::string();
}

msg::DeadChildJob everything_of(SQLite::Database& db, std::uint64_t job) {
  msg::DeadChildJob found;
  const auto id = static_cast<std::int64_t>(job);
  SQLite::Statement batch(
      db,
      "SELECT first, jobspec FROM batches JOIN specs ON specs.id = batches.spec "
      "WHERE first <= ? AND first + count > ? ORDER BY first DESC LIMIT 1");
  batch.bind(1, id);
  batch.bind(2, id);
  if (!batch.executeStep()) return found;
  found.jobspec = batch.getColumn(1).getString();
  if (const auto words = words_in(db, id)) found.jobspec = with_words(found.jobspec, *words);
  const InstanceClock clock = clock_of_journal(db);
  const auto take = [&](const EventRow& row) {
    auto known = row.job + row.count > id ? event_in(row) : fail(Errc::not_found, "of another job");
    if (!known) return true;
    const Event event = as_shown(std::move(*known), clock);
    found.events.push_back(
        {job, event.time, instance::name_of(event.body), context_of(event.body)});
    return true;
  };
  const std::int64_t first = batch.getColumn(0).getInt64();
  const auto skip = [](const std::string&) {};  // what can be read is shown
  static_cast<void>(each_event_of(db, {{first, first}, {id, id}}, {take, skip}));
  found.R = R_of(db, clock, job);
  return found;
}

}  // namespace

msg::DeadChild read_dead_child(const std::string& state_dir, const std::string& path,
                               const std::string& from, milliseconds patience) {
  JournalReader reader(path, from, patience);
  reader.visit(state_dir, path);
  return reader.take();
}

Result<msg::DeadChildJob> read_dead_child_job(const std::string& state_dir, std::uint64_t job,
                                              milliseconds patience) {
  const std::string file = state_dir + "/journal.db";
  std::error_code error;
  if (!fs::exists(file, error)) return fail(Errc::not_found, "there is no journal any more", file);
  try {
    const auto db = open_beside_its_owner(file, patience);
    auto found = everything_of(*db, job);
    if (const auto place = output_place(*db, JobId(job)); place && *place)
      if (auto logged = read_logged(state_dir + "/output", **place)) {
        found.output = std::move(logged->output);
        found.error = std::move(logged->error);
      }
    if (!found.events.empty()) return found;
  } catch (const SQLite::Exception& e) {
    return fail(is_busy(e) ? Errc::busy : Errc::system, e.what(), file);
  }
  return fail(Errc::not_found, fmt::format("there is no job {} in this journal", job), file);
}

std::string state_dir_below(const std::string& state_dir, const std::string& above,
                            const std::string& path) {
  std::string dir = state_dir, at = above;
  while (const auto child = child_towards(at, path)) {
    dir += "/children/" + std::to_string(child->value());
    at = join(at, *child);
  }
  return dir;
}

int dead_child_main(const DeadChildOptions& options, std::ostream& out) {
  if (options.job == 0) {
    out << transport::pack(
        read_dead_child(options.state_dir, options.path, options.from, options.patience));
    return 0;
  }
  const auto found = read_dead_child_job(options.state_dir, options.job, options.patience);
  if (!found) return 1;
  out << transport::pack(*found);
  return 0;
}

}  // namespace holon::instance
