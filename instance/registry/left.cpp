#include "instance/registry/left.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "instance/journal/files.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

namespace files = std::filesystem;

// Jobs without a record, in batches that are no arrays.
constexpr const char* kJobsLeft =
    "SELECT coalesce(sum(max(0, count - (SELECT count(*) FROM jobs WHERE id >= first AND id < "
    "first + count))), 0) FROM batches";
constexpr const char* kAreNoArrays = " WHERE first NOT IN (SELECT id FROM arrays)";
// Tasks without an end, in arrays that are not over.
constexpr const char* kTasksLeft =
    "SELECT coalesce(sum(max(0, tasks - (SELECT coalesce(sum(count), 0) FROM task_ends WHERE id > "
    "arrays.id AND id <= arrays.id + tasks))), 0) FROM arrays WHERE id NOT IN (SELECT id FROM "
    "jobs)";

// Is this the name of a file that an instance keeps in its state directory (docs/administrator.md)?
bool is_of_an_instance(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"lock",     "cgroup",   "output",
                                                      "children", "schedule", "server.key"};
  constexpr std::array<std::string_view, 4> kBeginnings = {"journal.db", "instance.",
                                                           "output.damaged-", ".probe"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
}

// The first name in the folder that no instance keeps; "": there is none.
Result<std::string> foreign_name(const files::path& folder) {
  std::string found;
  std::error_code error;
  for (files::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (!is_of_an_instance(name) && (found.empty() || name < found)) found = name;
  }
  if (error) return fail(Errc::system, error.message(), folder.string());
  return found;
}

// An instance that starts on it now waits for the lock, and finds the directory gone.
Result<transport::UniqueFd> lock_for_removal(const std::string& state_dir) {
  const std::string file = state_dir + "/lock";
  transport::UniqueFd lock(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!lock && errno == ENOENT) return lock;  // no instance has begun there
  if (!lock) return system_error({}, file);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return system_error({}, file);
  return fail(Errc::busy, "an instance runs on it", state_dir);
}

}  // namespace

Result<std::int64_t> jobs_left(const std::string& state_dir) {
  const std::string file = journal_file(state_dir);
  std::error_code error;
  const bool is_there = files::exists(file, error);
  if (error) return fail(Errc::system, error.message(), file);
  if (!is_there) return 0;
  try {
    const auto db = open_to_read(file);
    // A broker that was killed before it wrote anything has left no tables.
    if (!db->tableExists("batches")) return 0;
    if (!db->tableExists("arrays")) return db->execAndGet(kJobsLeft).getInt64();
    return db->execAndGet(std::string(kJobsLeft) + kAreNoArrays).getInt64() +
           db->execAndGet(kTasksLeft).getInt64();
  } catch (const SQLite::Exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  }
}

std::int64_t bytes_on_disk(const std::string& state_dir) {
  constexpr std::int64_t kBlock = 512;  // stat(2)
  std::int64_t bytes = 0;
  std::error_code error;
  for (files::recursive_directory_iterator
           file(state_dir, files::directory_options::skip_permission_denied, error),
       end;
       !error && file != end; file.increment(error)) {
    struct stat info {};
    if (lstat(file->path().c_str(), &info) == 0) bytes += info.st_blocks * kBlock;
  }
  return bytes;
}

Time last_used(const std::string& state_dir) {
  Time latest = 0;
  for (const char* name : {"/journal.db", "/journal.db-wal", "/instance.mark", "/instance.id",
                           "/instance.log", "/lock"}) {
    struct stat info {};
    if (stat((state_dir + name).c_str(), &info) != 0) continue;
    latest = std::max<Time>(latest, info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000);
  }
  return latest;
}

Status remove_state_dir(const std::string& state_dir) {
  const auto lock = lock_for_removal(state_dir);
  if (!lock) return tl::unexpected(lock.error());
  const auto foreign = foreign_name(state_dir);
  if (!foreign) return tl::unexpected(foreign.error());
  if (!foreign->empty())
    return fail(
        Errc::denied,
        fmt::format("{} in it is nothing of an instance; only a folder with nothing else in "
                    "it is removed",
                    *foreign),
        state_dir);
  // Renamed first, so that nobody sees half of it.
  const std::string doomed = fmt::format("{}.removed-{}", state_dir, getpid());
  std::error_code error;
  files::rename(state_dir, doomed, error);
  if (!error) files::remove_all(doomed, error);
  if (error) return fail(Errc::system, error.message(), state_dir);
  return {};
}

}  // namespace holon::instance
