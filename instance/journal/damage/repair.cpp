#include "instance/journal/damage/repair.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "instance/basics/durable_file.hpp"
#include "instance/basics/text.hpp"
#include "instance/journal/damage/batches.hpp"
#include "instance/journal/damage/log.hpp"
#include "instance/journal/damage/lost_arrays.hpp"
#include "instance/journal/damage/missing.hpp"
#include "instance/journal/damage/salvage.hpp"
#include "instance/journal/damage/schema_pages.hpp"
#include "instance/journal/damage/unreadable.hpp"
#include "instance/journal/database_kind.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/instance_id.hpp"
#include "instance/journal/rows.hpp"
#include "instance/journal/schema.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFindings = 20;  // of SQLite's own check

bool is_there(const std::string& file) {
  std::error_code none;
  return fs::is_regular_file(file, none) && fs::file_size(file, none) > 0;
}

std::int64_t number_of(SQLite::Database& db, const std::string& sql) {
  return db.execAndGet(sql).getInt64();
}

std::uint64_t commits_of(SQLite::Database& db) {
  return static_cast<std::uint64_t>(read_number(db, kCommits).value_or(0));
}

void check_tables(SQLite::Database& db, const JournalMark& mark, JournalCheck& check) {
  SQLite::Statement integrity(db, fmt::format("PRAGMA integrity_check({})", kMostFindings));
  while (integrity.executeStep())
    if (const auto text = integrity.getColumn(0).getString(); text != "ok")
      check.damage.push_back(text);
  for (const char* table :
       {"jobs", "batches", "descendants", "children", "reservations", "drains", "gates", "agents"})
    check.rows[table] = number_of(db, fmt::format("SELECT count(*) FROM {}", table));
  check.rows["events"] = count_events(db);
  for (auto& row : unreadable_rows(db)) check.damage.push_back(std::move(row.what));
  for (const auto& batch : wrong_batches(db)) check.damage.push_back(describe(batch));
  for (const auto first : batches_without_jobspec(db))
    check.damage.push_back(describe_without_jobspec(first));
  for (const auto array : arrays_without_batch(db))
    check.damage.push_back(fmt::format("array {}: it has no batch", array));
  for (const auto& lost : sort_out(missing_numbers(db), mark.kept()))
    if (!lost.is_unused) check.damage.push_back(name_of(lost) + ": neither a batch nor a record");
}

// Adds what a broker found that read the journal and condemned it.
void check_condemned(SQLite::Database& db, JournalCheck& check) {
  SQLite::Statement q(db, "SELECT value FROM meta WHERE key = ?");
  q.bind(1, std::string(kCondemned));
  if (q.executeStep()) check.damage.push_back(q.getColumn(0).getString());
}

void check_owner(SQLite::Database& db, const std::optional<InstanceId>& id, JournalCheck& check) {
  SQLite::Statement owner(db, "SELECT value FROM meta WHERE key = ?");
  owner.bind(1, std::string(kJournalId));
  const std::string kept = owner.executeStep() ? owner.getColumn(0).getString() : "";
  if (id && !kept.empty() && kept != id->id)
    check.damage.push_back(
        fmt::format("this is the journal of instance {}, and this state directory is that of {}",
                    kept, id->id));
}

void check_progress(SQLite::Database& db, const JournalMark& mark, JournalCheck& check) {
  const auto& known = mark.found();
  if (!known) return;
  const auto commits = commits_of(db);
  if (commits < known->commits)
    check.damage.push_back(fmt::format("the last {} of {} commits are not in it",
                                       known->commits - commits, known->commits));
}

// Calls `beat` again and again while SQLite works on `db`.
class Beating {
 public:
  Beating(SQLite::Database& db, const std::function<void()>& beat) : db_(db.getHandle()) {
    const auto call = [](void* what) {
      (*static_cast<const std::function<void()>*>(what))();
      return 0;  // go on
    };
    sqlite3_progress_handler(db_, kSteps, call, const_cast<std::function<void()>*>(&beat));
  }
  Beating(const Beating&) = delete;
  Beating& operator=(const Beating&) = delete;
  ~Beating() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }

 private:
  static constexpr int kSteps = 1'000;  // of SQLite's machine; a row takes some ten
  sqlite3* db_;
};

// Calls `beat` meanwhile: a journal may have gigabytes.
Status copy_bytes(const std::string& from, const std::string& to,
                  const std::function<void()>& beat) {
  std::ifstream in(from, std::ios::binary);
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  std::vector<char> piece(std::size_t{1} << 20);
  while (in && out) {
    beat();
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    out.write(piece.data(), in.gcount());
  }
  const bool all_read = in.eof();
  out.close();
  if (all_read && out) return {};
  return fail(Errc::system, std::strerror(errno), all_read ? to : from);
}

// A copy of the journal, its log mended where it is damaged; the damaged original stays.
Result<std::string> readable_copy(const std::string& file, const std::function<void()>& beat,
                                  std::vector<std::string>& lost) {
  const std::string copy = file + ".copy";
  std::error_code error;
  const auto overwrite = fs::copy_options::overwrite_existing;
  fs::remove(log_file(copy), error);
  if (auto copied = copy_bytes(file, copy, beat); !copied) return tl::unexpected(copied.error());
  if (!fs::exists(log_file(file), error)) return copy;
  if (!fs::copy_file(log_file(file), log_file(copy), overwrite, error))
    return fail(Errc::system, error.message(), log_file(copy));
  const auto log = look_at_log(log_file(copy));
  if (!log) return tl::unexpected(log.error());
  if (log->whole()) return copy;
  if (!log->mendable()) lost.push_back(describe(*log));
  if (!log->head)
    fs::remove(log_file(copy), error);
  else if (auto mended = mend_log(log_file(copy)); !mended)
    return tl::unexpected(mended.error());
  return copy;
}

Status find_tables(const std::string& copy, JournalRepair& repair) {
  const auto schema = mend_schema(copy);
  if (!schema) return tl::unexpected(schema.error());
  if (!schema->mended.empty())
    repair.mended.push_back("the schema, which says where the tables are: " + schema->damage +
                            "; " + schema->mended);
  else if (!schema->damage.empty())
    repair.lost.push_back("the schema, which says where the tables are: " + schema->damage +
                          "; rows that are whole cannot be found without it");
  return {};
}

// Rows that cannot be read are lost; rows that cannot be written stop the repair.
Status take_over(const std::string& file, SQLite::Database& to, const std::function<void()>& beat,
                 JournalRepair& repair) {
  const auto copy = readable_copy(file, beat, repair.lost);
  if (!copy) return tl::unexpected(copy.error());
  if (auto found = find_tables(*copy, repair); !found) return found;
  std::unique_ptr<SQLite::Database> from;
  try {
    from = open_to_read(*copy);
  } catch (const std::exception& e) {
    repair.lost.push_back(fmt::format("everything: {}", e.what()));
  }
  if (from) {
    auto taken = copy_readable(*from, to, beat);
    if (!taken) return tl::unexpected(taken.error());
    repair.rows = std::move(taken->rows);
    repair.lost.insert(repair.lost.end(), taken->lost.begin(), taken->lost.end());
  }
  from.reset();
  std::error_code ignored;
  for (const auto& name : {*copy, log_file(*copy)}) fs::remove(name, ignored);
  return {};
}

void settle_progress(SQLite::Database& db, const JournalProgress& known, Time now,
                     JournalRepair& repair) {
  // Reports lost commits once: the count of commits then continues from before the loss.
  const auto commits = commits_of(db);
  if (commits < known.commits)
    repair.lost.push_back(fmt::format("the last {} of {} commits, the last of {}",
                                      known.commits - commits, known.commits,
                                      time_text(known.when, now)));
  write_number(db, kCommits, static_cast<std::int64_t>(std::max(commits, known.commits)));
}

void settle(SQLite::Database& db, const JournalMark& mark, const std::string& id, Time now,
            JournalRepair& repair) {
  SQLite::Transaction all_of_it(db);  // else each row waits for the disk
  auto kept = mark.kept();
  for (const auto first : batches_without_jobspec(db))
    repair.lost.push_back(describe_without_jobspec(first));
  for (auto& what : drop_unreadable_rows(db)) repair.lost.push_back(std::move(what));
  db.exec(fmt::format("DELETE FROM meta WHERE key = '{}'", kCondemned));
  for (auto& what : settle_lost_arrays(db, now, kept)) repair.lost.push_back(std::move(what));
  db.exec("DELETE FROM batches WHERE spec NOT IN (SELECT id FROM specs)");
  for (const auto& batch : wrong_batches(db)) {
    repair.lost.push_back(describe(batch));
    SQLite::Statement bound(db, "UPDATE batches SET count = ? WHERE first = ?");
    bound.bind(1, batch.most);
    bound.bind(2, batch.first);
    bound.exec();
  }
  SQLite::Statement whose(db, "INSERT OR REPLACE INTO meta VALUES(?,?)");
  whose.bind(1, std::string(kJournalId));
  whose.bind(2, id);
  whose.exec();
  write_number(db, kRebuilt, now);
  const auto missing = sort_out(missing_numbers(db), kept);
  for (const auto& lost : missing)
    if (!lost.is_unused) repair.lost.push_back(name_of(lost));
  record_lost_jobs(db, missing, now);
  if (mark.found()) settle_progress(db, *mark.found(), now, repair);
  all_of_it.commit();
}

// A file that may not be looked at may be there.
Status expect_journal(const std::string& state_dir, const Result<std::optional<InstanceId>>& id) {
  const std::string file = journal_file(state_dir);
  std::error_code error;
  const bool is_there = fs::exists(file, error);
  if (error) return fail(Errc::system, error.message(), file);
  if (!is_there && (!id || !*id))
    return fail(Errc::not_found, "no instance has kept a journal here", state_dir);
  return {};
}

// A sound journal of an earlier version is refused: its rows mean something else. One whose number
// of the version is damaged has the tables of this one.
Status expect_no_earlier_version(const std::string& file) {
  try {
    const auto db = open_to_read(file);
    const int version = version_of(*db);
    const bool is_earlier = 0 < version && version < kJournalKind.version;
    return is_earlier && !db->tableExists("event_packs") ? expect_kind(*db, kJournalKind, file)
                                                         : Status();
  } catch (const SQLite::Exception&) {
    return {};
  }
}

// The repairing user may lack the broker's umask: tokens and environments are in a journal.
class FilesOfTheOwner {
 public:
  FilesOfTheOwner() = default;
  FilesOfTheOwner(const FilesOfTheOwner&) = delete;
  FilesOfTheOwner& operator=(const FilesOfTheOwner&) = delete;
  ~FilesOfTheOwner() { umask(usual_); }

 private:
  mode_t usual_ = umask(077);
};

}  // namespace

std::string repair_advice(const std::string& state_dir) {
  return fmt::format(
      "`holon journal check {0}` says what is left of it, `holon journal repair {0}` makes a new "
      "one of that, `holon start --state-dir OTHER` begins anew elsewhere",
      state_dir);
}

Result<JournalCheck> check_journal(const std::string& state_dir) {
  const auto id = read_instance_id(state_dir);
  const std::string file = journal_file(state_dir);
  std::error_code none;
  if (auto kept = expect_journal(state_dir, id); !kept) return tl::unexpected(kept.error());
  auto mark = JournalMark::open(state_dir);
  if (!mark) return tl::unexpected(mark.error());
  JournalCheck check;
  if (!id) check.damage.push_back(to_string(id.error()));
  if (!is_there(file)) {
    check.damage.push_back(fs::exists(file, none) ? "journal.db is empty, or no file"
                                                  : "journal.db is missing");
    return check;
  }
  try {
    const auto log = look_at_log(log_file(file));
    if (log && !log->whole())
      check.damage.push_back(describe(*log) +
                             (log->mendable() ? "; all of their pages are there once more" : ""));
    const auto db = open_to_read(file);
    if (auto ours = expect_kind(*db, kJournalKind, file); !ours)
      check.damage.push_back(to_string(ours.error()));
    if (id) check_owner(*db, *id, check);
    check_condemned(*db, check);
    check_progress(*db, *mark, check);
    check_tables(*db, *mark, check);
  } catch (const std::exception& e) {
    check.damage.push_back(fmt::format("it cannot be read any further: {}", e.what()));
  }
  return check;
}

Result<JournalRepair> rebuild_journal(const std::string& state_dir, const JournalMark& mark,
                                      Time now, const std::function<void()>& beat) {
  const std::string file = journal_file(state_dir), draft = file + ".rebuilt";
  const auto id = instance_id(state_dir);
  if (!id) return tl::unexpected(id.error());
  JournalRepair repair;
  if (auto made = create_journal(draft, *id); !made) return tl::unexpected(made.error());
  try {
    SQLite::Database db(draft, SQLite::OPEN_READWRITE);
    const Beating beating(db, beat);
    if (!is_there(file))
      repair.lost.push_back("everything: journal.db was missing or empty");
    else if (auto taken = take_over(file, db, beat, repair); !taken)
      return tl::unexpected(taken.error());
    settle(db, mark, *id, now, repair);
  } catch (const std::exception& e) {
    return fail(Errc::system, e.what(), draft);
  }
  // The old journal is put aside only once the new one is whole.
  auto aside = put_aside(file, now);
  if (!aside) return tl::unexpected(aside.error());
  repair.kept_as = std::move(*aside);
  std::error_code error;
  fs::rename(draft, file, error);
  if (error) return fail(Errc::system, error.message(), file);
  if (auto synced = sync_to_disk(state_dir); !synced) return tl::unexpected(synced.error());
  return repair;
}

Result<JournalRepair> repair_journal(const std::string& state_dir, Time now) {
  const FilesOfTheOwner only;
  if (auto kept = expect_journal(state_dir, read_instance_id(state_dir)); !kept)
    return tl::unexpected(kept.error());
  if (auto current = expect_no_earlier_version(journal_file(state_dir)); !current)
    return tl::unexpected(current.error());
  auto mark = JournalMark::open(state_dir);
  if (!mark) return tl::unexpected(mark.error());
  return rebuild_journal(state_dir, *mark, now, [] {});
}

}  // namespace holon::instance
