#include "instance/journal/files.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "instance/basics/clock.hpp"
#include "instance/basics/durable_file.hpp"
#include "instance/journal/damage/layout.hpp"
#include "instance/journal/database_kind.hpp"
#include "instance/journal/schema.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t kProbe = 64 << 10;  // bytes
}

std::string journal_file(const std::string& state_dir) {
  return state_dir + "/journal.db";
}

std::string log_file(const std::string& file) {
  return file + "-wal";
}

void begin_era(SQLite::Database& db) {
  SQLite::Statement put(db, "INSERT OR REPLACE INTO meta VALUES(?,?)");
  put.bind(1, std::string(kEventEra));
  put.bind(2, std::to_string(wall_clock_ms()));
  put.exec();
}

Status create_journal(const std::string& file, const std::string& id) {
  const std::string draft = file + ".new";
  std::error_code error;
  for (const std::string& old : {draft, log_file(draft), draft + "-journal"})
    fs::remove(old, error);
  try {
    SQLite::Database db(draft, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    // Synced once, below; an unfinished draft is thrown away.
    db.exec("PRAGMA synchronous=OFF");
    db.exec("PRAGMA journal_mode=MEMORY");
    if (auto made = make_tables(db, draft); !made) return made;
    keep_layout(db);
    SQLite::Statement mark(db, "INSERT INTO meta VALUES(?,?)");
    mark.bind(1, std::string(kJournalId));
    mark.bind(2, id);
    mark.exec();
    begin_era(db);
  } catch (const SQLite::Exception& e) {
    return fail(Errc::system, e.what(), draft);
  }
  if (auto synced = sync_to_disk(draft); !synced) return synced;
  fs::rename(draft, file, error);
  if (error) return fail(Errc::system, error.message(), file);
  return sync_to_disk(fs::path(file).parent_path().string());
}

std::unique_ptr<SQLite::Database> open_to_read(const std::string& file) {
  std::error_code none;
  const auto logged = fs::file_size(log_file(file), none);
  if (none || logged == 0)
    return std::make_unique<SQLite::Database>("file:" + file + "?immutable=1",
                                              SQLite::OPEN_READONLY | SQLite::OPEN_URI);
  // Opened without locks, which a file that is open read-only could not have.
  auto db = std::make_unique<SQLite::Database>(file, SQLite::OPEN_READONLY, 0, "unix-none");
  db->exec("PRAGMA locking_mode=EXCLUSIVE");
  return db;
}

Result<std::string> put_aside(const std::string& file, Time now) {
  const std::time_t seconds = now / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char when[32] = "";
  std::strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts);
  std::string aside = fmt::format("{}.damaged-{}", file, when);
  std::error_code error;
  for (int n = 2; fs::exists(aside, error) || fs::exists(log_file(aside), error); ++n)
    aside = fmt::format("{}.damaged-{}.{}", file, when, n);
  bool any = false;
  for (const auto& [from, to] : {std::pair(file, aside), {log_file(file), log_file(aside)}}) {
    if (!fs::exists(from, error)) continue;
    fs::rename(from, to, error);
    if (error) return fail(Errc::system, error.message(), from);
    any = true;
  }
  return any ? aside : std::string();
}

std::optional<std::string> disk_trouble(const std::string& dir) {
  const std::string file = dir + "/.probe", text(kProbe, '\0');
  const transport::UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const ssize_t n = fd ? write(fd.get(), text.data(), text.size()) : -1;
  const int error = n < 0 ? errno : 0;
  if (fd) unlink(file.c_str());
  if (error == EROFS) return "is read-only";
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (full || (n >= 0 && n < static_cast<ssize_t>(kProbe))) return "is full";
  return std::nullopt;
}

std::optional<FileLook> FileLook::at(const std::string& file) {
  struct stat info {};
  if (lstat(file.c_str(), &info) != 0) return std::nullopt;
  const bool is_link = S_ISLNK(info.st_mode);
  if (is_link && stat(file.c_str(), &info) != 0) return std::nullopt;
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  return FileLook{info.st_dev, info.st_ino, info.st_size, is_link};
}

}  // namespace holon::instance
