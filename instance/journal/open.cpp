// The journal's file: found, looked at before it is trusted, and watched while it is open.
//
// SQLite in WAL mode with synchronous=NORMAL writes a commit into the page cache and does not wait
// for the disk: the kernel keeps it whatever happens to processes. FULL adds the fsync.
// locking_mode=EXCLUSIVE spares the shared-memory index. The tables themselves are made outside of
// the log, so that a lost log takes no more than the commits in it.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "instance/basics/clock.hpp"
#include "instance/basics/durable_file.hpp"
#include "instance/basics/text.hpp"
#include "instance/journal/damage/batches.hpp"
#include "instance/journal/damage/layout.hpp"
#include "instance/journal/damage/log.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/damage/salvage.hpp"
#include "instance/journal/instance_id.hpp"
#include "instance/journal/records/past.hpp"
#include "instance/journal/state.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCheckFor = 1'000'000;  // us: how long a beginning looks for damage
constexpr std::size_t kMostKept = 10'000;      // arrays, as of JournalMark::kept()
constexpr off_t kReserve = 192 << 10;          // bytes: some turns
constexpr int kStepsBetweenLooks = 1000;       // of SQLite's machine

void set_pragmas(SQLite::Database& db, Journal::Sync sync) {
  db.exec("PRAGMA locking_mode=EXCLUSIVE");
  db.exec("PRAGMA journal_mode=WAL");
  db.exec(sync == Journal::Sync::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  db.exec("PRAGMA wal_autocheckpoint=4000");
  db.exec("PRAGMA journal_size_limit=16777216");  // a log that a large turn has made longer
  db.exec("PRAGMA temp_store=MEMORY");
}

Error cannot_write(const std::string& dir, const std::string& trouble) {
  return {Errc::system,
          fmt::format("the disk of {} {}: the journal cannot be written", dir, trouble),
          {}};
}

Error open_error(const SQLite::Exception& e, const std::string& file) {
  const std::string dir = fs::path(file).parent_path().string();
  switch (e.getErrorCode()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::busy, "a running instance uses this state directory", file};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return {Errc::invalid_argument, fmt::format("not a usable journal: {}", e.what()), file};
    default:
      if (const auto trouble = disk_trouble(dir)) return cannot_write(dir, *trouble);
      // A table or a column is not there: a byte of the schema is damaged.
      if (e.getErrorCode() == SQLITE_ERROR)
        return {Errc::invalid_argument, fmt::format("not a usable journal: {}", e.what()), file};
      return {Errc::system, e.what(), file};
  }
}

// Checks whether the tables are consistent. A large journal is checked for a second, as far as that
// goes: `holon journal check` looks at all of it.
std::string damage_in(SQLite::Database& db, const Journal::Beat& beat) {
  struct Look {
    std::int64_t until;
    const Journal::Beat& beat;
  } look{monotonic_us() + kCheckFor, beat};
  sqlite3_progress_handler(
      db.getHandle(), kStepsBetweenLooks,
      [](void* its) {
        const auto& now = *static_cast<const Look*>(its);
        now.beat();
        return monotonic_us() > now.until ? 1 : 0;
      },
      &look);
  std::string found;
  try {
    SQLite::Statement check(db, "PRAGMA quick_check(1)");
    if (check.executeStep() && check.getColumn(0).getString() != "ok")
      found = check.getColumn(0).getString();
  } catch (const SQLite::Exception& e) {
    if (e.getErrorCode() != SQLITE_INTERRUPT) found = e.what();
  }
  sqlite3_progress_handler(db.getHandle(), 0, nullptr, nullptr);
  return found;
}

std::uint64_t number_in_meta(SQLite::Database& db, const char* key) {
  return std::strtoull(meta_of(db, key).c_str(), nullptr, 10);
}

// The steps from a state directory to a journal that can be trusted.
class Opening {
 public:
  Opening(std::string file, Journal::OnDamage on_damage, const Journal::Beat& beat)
      : file_(std::move(file)),
        dir_(fs::path(file_).parent_path().string()),
        on_damage_(on_damage),
        beat_(beat) {}

  Status look() {
    auto mark = JournalMark::open(dir_);
    if (!mark) return tl::unexpected(Error{mark.error().code, mark.error().what, file_});
    mark_ = std::move(*mark);
    auto known = read_instance_id(dir_);
    if (!known) return tl::unexpected(known.error());
    expected_ = *known && (*known)->has_journal;
    id_ = *known ? (*known)->id : new_instance_id();
    std::error_code none;
    if (!fs::is_regular_file(file_, none) || fs::file_size(file_, none) == 0)
      return look_at_nothing();
    return look_at_log_of_it();
  }

  // Checks an open database.
  Status trust(SQLite::Database& db) {
    foreign_ = true;
    if (auto ours = expect_kind(db, kJournalKind, file_); !ours) return ours;
    foreign_ = false;
    if (auto found = damage_in(db, beat_); !found.empty())
      return fail(Errc::invalid_argument, "the journal is damaged: " + found, file_);
    if (const auto wrong = wrong_batches(db); !wrong.empty())
      return fail(Errc::invalid_argument, "the journal is damaged: " + describe(wrong.front()),
                  file_);
    if (const auto without = batches_without_jobspec(db); !without.empty())
      return fail(Errc::invalid_argument,
                  "the journal is damaged: " + describe_without_jobspec(without.front()), file_);
    if (const auto why = meta_of(db, kCondemned); !why.empty())
      return fail(Errc::invalid_argument, "the journal is damaged: " + why, file_);
    const auto kept = meta_of(db, kJournalId);
    if (!kept.empty() && kept.find_first_not_of("0123456789abcdef") != std::string::npos)
      return fail(Errc::invalid_argument, "the journal is damaged: whose it is cannot be read",
                  file_);
    foreign_ = !kept.empty() && kept != id_;
    if (foreign_)
      return fail(Errc::invalid_argument,
                  fmt::format("this is the journal of instance {}, and this state directory is "
                              "that of {}; {}",
                              kept, id_, repair_advice(dir_)),
                  file_);
    return {};
  }

  bool can_repair(const Error& why) const {
    return why.code == Errc::invalid_argument && !foreign_;
  }
  Status repair(const Error& why) {
    if (on_damage_ == Journal::OnDamage::refuse)
      return fail(why.code, why.what + "; " + repair_advice(dir_), why.where);
    const auto repaired = rebuild_journal(dir_, mark_, wall_clock_ms(), beat_);
    if (!repaired) return tl::unexpected(repaired.error());
    news.push_back(to_string(why));
    news.push_back(repaired->kept_as.empty()
                       ? "a new journal was made"
                       : "a new journal was made of what can be read of it, which is kept as " +
                             repaired->kept_as);
    for (const auto& mended : repaired->mended) news.push_back("mended: " + mended);
    for (const auto& lost : repaired->lost) news.push_back("lost: " + lost);
    return {};
  }

  const std::string& id() const { return id_; }
  JournalMark take_mark() { return std::move(mark_); }
  std::vector<std::string> news;

 private:
  Status look_at_nothing() {
    std::error_code none;
    const bool is_there = fs::exists(file_, none);
    if (is_there && !fs::is_regular_file(file_, none) && !expected_)
      return fail(Errc::invalid_argument, "not a usable journal: it is no file", file_);
    const char* what = !is_there                          ? "is gone"
                       : fs::is_regular_file(file_, none) ? "was emptied"
                                                          : "is no file any more";
    if (expected_)
      return repair({Errc::invalid_argument,
                     fmt::format("the journal of this state directory {}", what), file_});
    for (const auto& stale : {file_, log_file(file_)}) fs::remove(stale, none);
    return create_journal(file_, id_);
  }

  // After a crash of the system the end of the log may never have reached the disk: SQLite is right
  // then to cut it off.
  Status look_at_log_of_it() {
    const auto& known = mark_.found();
    if (known && known->boot != boot_id()) return {};
    const auto log = look_at_log(log_file(file_));
    if (!log) return tl::unexpected(log.error());
    if (log->whole()) return {};
    if (!log->mendable())
      return repair({Errc::invalid_argument, "the journal is damaged: " + describe(*log), file_});
    news.push_back("the journal was damaged: " + describe(*log) +
                   "; nothing is lost: all of their pages were there once more");
    return mend_log(log_file(file_));
  }

  std::string file_, dir_, id_;
  Journal::OnDamage on_damage_;
  const Journal::Beat& beat_;
  bool expected_ = false;
  bool foreign_ = false;  // another program's database, or another instance's journal
  JournalMark mark_;
};

// Done in one transaction: a reader in between would find tables that are not of the journal's
// layout.
void make_later_tables(SQLite::Database& db) {
  SQLite::Transaction whole(db);
  db.exec(kLaterTables);
  drop_outdated_layout(db);
  whole.commit();
}

Result<SQLite::Database> open_checked(const std::string& file, Journal::Sync sync,
                                      Opening& opening) {
  try {
    SQLite::Database db(file, SQLite::OPEN_READWRITE);
    set_pragmas(db, sync);
    if (auto sound = opening.trust(db); !sound) return tl::unexpected(sound.error());
    make_later_tables(db);
    if (number_in_meta(db, kEventEra) == 0) begin_era(db);
    return db;
  } catch (const SQLite::Exception& e) {
    return tl::unexpected(open_error(e, file));
  }
}

// Reserves room behind the end of a log for the next commits. False: there is none. A filesystem
// that cannot reserve reports a full disk at a commit.
bool reserve(const std::string& log) {
  const transport::UniqueFd fd(open(log.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || fstat(fd.get(), &info) != 0) return true;
  return fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, info.st_size, kReserve) == 0 ||
         (errno != ENOSPC && errno != EDQUOT && errno != EFBIG);
}

}  // namespace

std::string Journal::State::state_dir() const {
  return fs::path(file).parent_path().string();
}

// SQLite loses the errno of a file error: the disk is asked instead.
Error Journal::State::write_error(const std::exception& e) const {
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&e);
  const int code = sqlite != nullptr ? sqlite->getErrorCode() : SQLITE_ERROR;
  const bool full = code == SQLITE_FULL;
  if (const auto trouble = full || file.empty() ? std::nullopt : disk_trouble(state_dir()))
    return cannot_write(state_dir(), *trouble);
  if (full) return cannot_write(state_dir(), "is full");
  return {Errc::system, fmt::format("the journal cannot be written: {}", e.what()), file};
}

void Journal::State::begin_with(JournalMark its_mark, const std::string& id, JobId next) {
  auto before = its_mark.found();
  if (before && before->id != id) before.reset();  // copied here from another instance
  mark.emplace(std::move(its_mark));
  progress.id = id;
  if (auto boot = boot_id(); !boot.empty()) progress.boot = std::move(boot);
  progress.commits = static_cast<std::uint64_t>(read_number(db, kCommits).value_or(0));
  progress.next_id = next.value();
  if (before && before->commits > progress.commits) {
    news.push_back(fmt::format(
        "the journal has lost the last {} of its {} commits, the last of {}{}: what they had "
        "acknowledged is not known any more",
        before->commits - progress.commits, before->commits,
        time_text(before->when, wall_clock_ms()),
        before->boot == progress.boot ? "" : " (the operating system was started again since)"));
    progress.commits = before->commits;
    write([this] { begin_era(db); });
  }
  mark->forget_kept_but(before ? kMostKept : 0);
  if (before && before->next_id > progress.next_id) lose_numbers(before->next_id);
  mark->write(progress);
  remember_files();
}

void Journal::State::lose_numbers(std::uint64_t next) {
  const Numbers all(static_cast<std::int64_t>(progress.next_id), static_cast<std::int64_t>(next));
  std::string words;
  for (auto& piece : sort_out({all}, mark->kept())) {
    if (piece.is_unused) {
      write([&] { note_unused(db, piece.numbers); });
      continue;
    }
    words += (words.empty() ? "lost are " : ", ") + name_of(piece);
    lost.push_back(piece);
  }
  if (!words.empty()) news.push_back(words);
  progress.next_id = next;
}

void Journal::State::load_forgetting() {
  const auto first = read_number(db, kForgettingFirst), stop = read_number(db, kForgettingStop);
  if (first && stop)
    forgetting = {JobId(static_cast<std::uint64_t>(*first)),
                  JobId(static_cast<std::uint64_t>(*stop))};
}

void Journal::State::remember_files() {
  look = FileLook::at(file);
  log_look = FileLook::at(log_file(file));
}

bool Journal::State::remember_files_if_same() {
  const auto is_same = [](const std::optional<FileLook>& before,
                          const std::optional<FileLook>& now) {
    return !before || (now && now->same_file(*before));
  };
  const auto now = FileLook::at(file), log_now = FileLook::at(log_file(file));
  if (!is_same(look, now) || !is_same(log_look, log_now)) return false;
  look = now;
  log_look = log_now;
  return true;
}

bool Journal::State::files_changed(bool sizes_too) const {
  const auto other = [sizes_too](const std::optional<FileLook>& before, const std::string& name) {
    if (!before) return false;
    const auto now = FileLook::at(name);
    return !now || !now->same_file(*before) || (sizes_too && now->size < before->size);
  };
  return !file.empty() && (other(look, file) || other(log_look, log_file(file)));
}

void Journal::State::keep_beating(Beat its_beat) {
  beat = std::move(its_beat);
  const auto call = [](void* its) {
    static_cast<State*>(its)->beat();
    return 0;
  };
  if (beat) sqlite3_progress_handler(db.getHandle(), kStepsBetweenLooks, call, this);
}

void Journal::stop_beating() {
  sqlite3_progress_handler(state_->db.getHandle(), 0, nullptr, nullptr);
}

Result<Journal> Journal::open(const std::string& file, Sync sync, OnDamage on_damage, Beat beat) {
  const Beat always = beat ? beat : [] {};
  try {
    if (file.empty()) {
      SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      if (auto made = adopt_schema(db, kJournalKind, file); !made)
        return tl::unexpected(made.error());
      db.exec(kLaterTables);
      begin_era(db);
      return Journal(std::make_unique<State>(std::move(db), file, sync));
    }
    Opening opening(file, on_damage, always);
    if (auto there = opening.look(); !there) return tl::unexpected(there.error());
    auto db = open_checked(file, sync, opening);
    if (!db && opening.can_repair(db.error())) {
      if (auto repaired = opening.repair(db.error()); !repaired)
        return tl::unexpected(repaired.error());
      db = open_checked(file, sync, opening);
    }
    if (!db) return tl::unexpected(db.error());
    Journal journal(std::make_unique<State>(std::move(*db), file, sync));
    auto& state = *journal.state_;
    state.keep_beating(std::move(beat));
    state.news = std::move(opening.news);
    const auto next = journal.next_id();
    if (!next) return tl::unexpected(next.error());
    if (auto known = keep_instance_id(state.state_dir(), opening.id()); !known)
      return tl::unexpected(known.error());
    if (const auto known = journal.meta(kJournalId); known && !*known)
      journal.set_meta(kJournalId, opening.id());
    state.begin_with(opening.take_mark(), opening.id(), *next);
    return journal;
  } catch (const SQLite::Exception& e) {
    return tl::unexpected(open_error(e, file));
  }
}

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;

Journal::~Journal() = default;

std::vector<std::string> Journal::take_news() {
  return std::exchange(state_->news, {});
}

const std::vector<LostNumbers>& Journal::lost() const {
  return state_->lost;
}

void Journal::leave_unused(JobId first, JobId stop) {
  state_->write([&] {
    note_unused(state_->db, {static_cast<std::int64_t>(first.value()),
                             static_cast<std::int64_t>(stop.value())});
  });
}

bool Journal::rebuilt() const {
  const auto when = number(kRebuilt);
  return when && *when;
}

Error Journal::condemn(const Error& why) {
  const std::string words = to_string(why);
  State& s = *state_;
  if (std::exchange(s.open, false)) s.db.exec("ROLLBACK");
  set_meta(kCondemned, words);
  if (auto kept = commit(); !kept) return kept.error();
  std::string advice = s.file.empty() ? "" : "; " + repair_advice(s.state_dir());
  return {Errc::system, "the journal is damaged: " + words + advice, s.file};
}

void Journal::freeze() {
  state_->frozen = true;
}

Status Journal::room() {
  State& s = *state_;
  if (s.file.empty()) return {};
  if (const auto trouble = disk_trouble(s.state_dir()))
    return tl::unexpected(cannot_write(s.state_dir(), *trouble));
  if (s.for_reading) return {};  // the next to open it can write
  // The contents of the log may fit into the database.
  sqlite3_wal_checkpoint_v2(s.db.getHandle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
  if (!reserve(log_file(s.file))) return tl::unexpected(cannot_write(s.state_dir(), "is full"));
  try {
    // Changes by opening, e.g. a new era of events, are in an open transaction.
    if (std::exchange(s.open, false)) s.db.exec("COMMIT");
    s.db.exec("BEGIN IMMEDIATE");
    s.db.exec(
        fmt::format("INSERT OR REPLACE INTO meta VALUES('journal.probe', '{}')", wall_clock_ms()));
    s.db.exec("COMMIT");
    s.remember_files();
    return {};
  } catch (const std::exception& e) {
    const Error why = s.write_error(e);
    if (sqlite3_get_autocommit(s.db.getHandle()) == 0)
      sqlite3_exec(s.db.getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
    s.remember_files();
    return tl::unexpected(why);
  }
}

Result<Journal> Journal::open_frozen(const std::string& file, Beat beat) {
  try {
    auto db = open_to_read(file);
    if (auto ours = expect_kind(*db, kJournalKind, file); !ours)
      return tl::unexpected(ours.error());
    Journal journal(std::make_unique<State>(std::move(*db), file, Sync::normal));
    journal.freeze();
    journal.state_->for_reading = true;
    journal.state_->keep_beating(std::move(beat));
    return journal;
  } catch (const SQLite::Exception& e) {
    return tl::unexpected(open_error(e, file));
  }
}

Status Journal::look() {
  if (state_->broken) return tl::unexpected(*state_->broken);
  if (state_->open || state_->frozen || !state_->files_changed(true)) return {};
  return rescue();
}

// The journal's name no longer leads to the files that it has open. These can still be read, as far
// as nobody has written into them.
Status Journal::rescue() {
  State& old = *state_;
  const std::string dir = old.state_dir(), draft = old.file + ".rescued";
  const auto lost = [&](const std::string& why) {
    old.broken = Error{Errc::system,
                       "the journal was removed or changed by somebody while the instance ran, and "
                       "cannot be written again: " +
                           why,
                       old.file};
    return tl::unexpected(*old.broken);
  };
  // Another instance that was started in the directory has a journal of its own there.
  const auto found = read_instance_id(dir);
  if (found && *found && (*found)->id != old.progress.id)
    return lost("another instance has begun in " + dir);
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) return lost(error.message());
  if (auto made = create_journal(draft, old.progress.id); !made) return lost(made.error().what);
  try {
    auto taken = Result<Salvage>();
    {
      SQLite::Database to(draft, SQLite::OPEN_READWRITE);
      taken = copy_readable(old.db, to, old.beat ? old.beat : Beat([] {}));
    }
    if (!taken) return lost(taken.error().what);
    auto aside = put_aside(old.file, wall_clock_ms());
    if (!aside) return lost(aside.error().what);
    fs::rename(draft, old.file, error);
    if (error) return lost(error.message());
    // The old database must not remove the log of the new one, which has the same name.
    sqlite3_db_config(old.db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    SQLite::Database db(old.file, SQLite::OPEN_READWRITE);
    set_pragmas(db, old.sync);
    auto next = std::make_unique<State>(std::move(db), old.file, old.sync);
    next->progress = old.progress;
    next->beat = std::move(old.beat);
    next->mark = std::move(old.mark);
    next->news = std::move(old.news);
    next->news.push_back(fmt::format(
        "{} was removed or changed by somebody while the instance ran; it was written again{}",
        old.file, aside->empty() ? "" : ", what was found there is kept as " + *aside));
    for (const auto& row : taken->lost) next->news.push_back("lost: " + row);
    state_ = std::move(next);
  } catch (const std::exception& e) {
    return lost(e.what());
  }
  if (auto known = keep_instance_id(dir, state_->progress.id); !known)
    state_->news.push_back(to_string(known.error()));
  if (!fs::exists(dir + "/instance.mark", error))
    if (auto mark = JournalMark::open(dir)) {
      for (const auto& numbers : state_->mark->kept()) mark->keep(numbers);
      state_->mark = std::move(*mark);
    }
  state_->mark->write(state_->progress);
  state_->remember_files();
  return sync_to_disk(dir);
}

}  // namespace holon::instance
