// state.hpp - what an open Journal is made of; for its own .cpp files.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "instance/journal/damage/missing.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/mark.hpp"
#include "instance/journal/records/ended_record.hpp"
#include "instance/journal/schema.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// Journal::output_of(), for a journal of any version. Errors: system, invalid_argument.
Result<std::optional<OutputPlace>> output_place(SQLite::Database& db, JobId job);

// True for batches with a job that is not INACTIVE; an array is INACTIVE when it has its record.
inline constexpr const char* kUnfinished =
    "CASE WHEN first IN (SELECT id FROM arrays) THEN first NOT IN (SELECT id FROM jobs) ELSE count "
    "> "
    "(SELECT count(*) FROM jobs WHERE id >= first AND id < first + count) END";

struct Journal::State {
  SQLite::Database db;
  std::string file;  // empty: in memory
  Sync sync = Sync::normal;
  bool open = false;         // a transaction is open
  bool frozen = false;       // writes are left out
  bool for_reading = false;  // the database was opened read-only
  std::optional<Error> broken;
  std::int64_t next_seq = 1;
  std::int64_t pack_from = 1;  // below this next_seq there are too few events for a pack
  std::int64_t packed_to = 0;  // events up to this one are packed, but for some that stay rows

  std::optional<JournalMark> mark;  // none where the journal is in memory
  JournalProgress progress;
  std::optional<FileLook> look, log_look;  // the files when they were last written
  std::vector<std::string> news;
  std::vector<KeptNumbers> fresh_numbers;  // goes to the mark with the next commit
  std::vector<LostNumbers> lost;
  std::optional<std::pair<JobId, JobId>> forgetting;  // what is left to forget of a batch
  JobId forgotten_to{0};                              // older batches are not over
  Beat beat;

  SQLite::Statement begin{db, "BEGIN IMMEDIATE"};
  SQLite::Statement end{db, "COMMIT"};
  SQLite::Statement spec{db, "INSERT INTO specs(jobspec) VALUES(?)"};
  SQLite::Statement batch{db, "INSERT INTO batches VALUES(?,?,?,?,?)"};
  SQLite::Statement event{db, "INSERT INTO events VALUES(?,?,?,?,?,?)"};
  SQLite::Statement alloc{db, "INSERT OR REPLACE INTO allocs VALUES(?,?,?,?)"};
  SQLite::Statement inactive{db, "INSERT OR REPLACE INTO jobs VALUES(?,?,?)"};
  SQLite::Statement descendant{db, "INSERT OR REPLACE INTO descendants VALUES(?,?)"};
  SQLite::Statement known{db, "SELECT record FROM descendants WHERE path=?"};
  SQLite::Statement child{db, "INSERT OR REPLACE INTO children VALUES(?,?,?,?)"};
  SQLite::Statement commits{db, "INSERT OR REPLACE INTO numbers VALUES(?,?)"};
  SQLite::Statement outbox_in{db, "INSERT OR IGNORE INTO outbox VALUES(?)"};
  std::optional<SQLite::Statement> submit_key, known_key, audit;  // made at their first use
  SQLite::Statement outbox_out{db, "DELETE FROM outbox WHERE path=?"};

  // Events of tasks of arrays that are not over: packed, as far as they are written, and those to
  // be written with the next commit.
  struct Run {
    std::string written;
    std::vector<Event> fresh;
  };
  std::map<JobId, Run> runs;
  std::set<JobId> changed_runs;
  Time latest_of_tasks = 0, latest_written = 0;  // of events of tasks
  std::optional<SQLite::Statement> run_in, run_out, alloc_out, run_known, end_in, end_known,
      words_in, words_known, output_in, output_known, result_known;
  void write_runs();
  Run& run_of(JobId task);

  State(SQLite::Database database, std::string name, Sync how)
      : db(std::move(database)), file(std::move(name)), sync(how) {
    next_seq = last_event() + 1;
    packed_to = last_packed_event(db);
    pack_from = first_pack_from();
    load_forgetting();
  }
  void load_forgetting();
  void keep_beating(Beat its_beat);
  std::int64_t first_pack_from() const;
  // Packs events where there are enough of them, in a write. A few milliseconds at most.
  void pack_some_events();
  // The highest number that an event has had, forgotten or not; 0: none.
  std::int64_t last_event() const;
  std::int64_t forgotten_event() const;        // the last forgotten one; 0: none
  std::int64_t oldest_unpacked_event() const;  // behind packed_to; 0: there is none
  // Call before the events of the jobs first .. stop-1 go.
  void note_forgotten_events(JobId first, JobId stop);

  std::string state_dir() const;
  // Compares the journal with its mark, and continues from the later of both.
  void begin_with(JournalMark its_mark, const std::string& id, JobId next);
  void remember_files();
  // False: the files have changed (files_changed(false)), and nothing was done.
  bool remember_files_if_same();
  // Do the names of the database and its log lead elsewhere than to what is open, or has somebody
  // shortened one of them?
  bool files_changed(bool sizes_too) const;
  // Notes that numbers below this one were given.
  void given_up_to(std::uint64_t next) { progress.next_id = std::max(progress.next_id, next); }

  // Runs one write inside the turn's transaction; remembers the first failure.
  template <class Write>
  void write(Write&& body) {
    if (broken || frozen) return;
    try {
      if (!open) run(begin);
      open = true;
      body();
    } catch (const std::exception& e) {
      broken = write_error(e);
    }
  }
  // Why a write failed: a full disk, a read-only one, or another reason.
  Error write_error(const std::exception& e) const;

  void keep_forgetting();
  // Takes the next batch to be forgotten out of the tables of what may be active. `before`: a batch
  // that was not over by then stays; 0: any goes. `undecided`: so many of its jobs were looked at
  // that the rest is for the next call.
  enum class Choice { chosen, none, undecided };
  Choice choose_forgotten(Time before);
  // Were all these jobs over by then? Looks at a limited number of records a call, from `aged_to`
  // on.
  Choice look_at_age(JobId first, JobId stop, Time before);
  JobId aged_to{0};  // jobs of the batch below this were over in time
  // The first number from `first` on that has left anything; `stop`: there is none below it.
  JobId next_kept(JobId first, JobId stop) const;
  bool forget_some_below(const std::string& path);
  // Forgets all of the jobs first .. stop-1, which no batch has any more.
  void forget(JobId first, JobId stop, Forgotten& gone);
  struct {
    std::string user, queue;
  } forgotten_array;  // the array that is going, or went last
  void forget_tasks(JobId first, JobId stop, Forgotten& gone);
  void forget_instances_of_arrays(JobId first, JobId stop, Forgotten& gone);
  void forget_reservations();
  // Does this record, packed as `data`, change what is known of a descendant's job?
  bool is_news(const msg::JobRecord& record, std::string_view data);
  // The base records that batches are compared with (ended_record.hpp), by the batch's last number;
  // for batches of which a job has ended since the journal was opened.
  struct RecordBase {
    JobId first;
    msg::JobRecord record;
  };
  std::map<JobId, RecordBase> bases;
  std::optional<SQLite::Statement> batch_known, whole_batch_known, array_known;
  mutable RecordReader records{db};
  // nullptr: the record is kept whole. The first record of a batch becomes its base.
  const msg::JobRecord* base_for(const msg::JobRecord& record);
  void read_base(JobId first, JobId last, const msg::JobRecord& otherwise);
  // The final record of an own job, or a substitute for a damaged one.
  msg::JobRecord own_record(const SQLite::Column& data, JobId id) const;

  void put_meta(const std::string& key, const std::string& value) {
    SQLite::Statement put(db, "INSERT OR REPLACE INTO meta VALUES(?,?)");
    put.bind(1, key);
    put.bind(2, value);
    put.exec();
  }
  void count_commit() {
    commits.bindNoCopy(1, kCommits);
    commits.bind(2, static_cast<std::int64_t>(progress.commits + 1));
    run(commits);
  }
  void write_batch(const Batch& b, std::int64_t spec_row);
  // Notes that an array has so many tasks, and its batch `numbers`, the array's own among them.
  void keep_numbers(JobId array, std::uint64_t tasks, std::uint64_t numbers);
  // Notes job ids below `next` of which the journal has no row as lost or unused.
  void lose_numbers(std::uint64_t next);
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

}  // namespace holon::instance
