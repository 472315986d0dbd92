#include "world/seams/disk.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <new>

#include "transport/unique_fd.hpp"
#include "world/machine.hpp"
#include "world/seams/process.hpp"

namespace holon::world {
namespace {

// SQLite's files are C structs whose first member is their table of functions; the file of the
// system's VFS lies behind ours.
struct WorldFile {
  sqlite3_file base;
  Disk* disk;
  std::string* name;
  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

WorldFile& ours(sqlite3_file* file) {
  return *reinterpret_cast<WorldFile*>(file);
}
sqlite3_file* below(sqlite3_file* file) {
  return ours(file).below();
}

std::int64_t size_of_file(sqlite3_file* file) {
  sqlite3_int64 size = 0;
  below(file)->pMethods->xFileSize(below(file), &size);
  return size;
}

void remember(sqlite3_file* file, std::int64_t offset, std::int64_t length, std::int64_t size) {
  Disk::Undo undo;
  undo.offset = offset;
  undo.size = size;
  const std::int64_t there = std::min(length, size - offset);
  if (there > 0) {
    undo.before.resize(static_cast<std::size_t>(there));
    below(file)->pMethods->xRead(below(file), undo.before.data(), static_cast<int>(there), offset);
  }
  ours(file).disk->written(*ours(file).name, std::move(undo));
}

int close_file(sqlite3_file* file) {
  const int code = below(file)->pMethods->xClose(below(file));
  delete ours(file).name;
  return code;
}
int read_file(sqlite3_file* file, void* to, int length, sqlite3_int64 at) {
  return below(file)->pMethods->xRead(below(file), to, length, at);
}
int write_file(sqlite3_file* file, const void* from, int length, sqlite3_int64 at) {
  const std::int64_t size = size_of_file(file);
  bool dropped = false;
  if (const int code = ours(file).disk->may_write(*ours(file).name, at + length, size, &dropped);
      code != SQLITE_OK || dropped)
    return code;
  remember(file, at, length, size);
  return below(file)->pMethods->xWrite(below(file), from, length, at);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  const std::int64_t before = size_of_file(file);
  bool dropped = false;
  if (const int code = ours(file).disk->may_write(*ours(file).name, size, before, &dropped);
      code != SQLITE_OK || dropped)
    return code;
  remember(file, size, before - size, before);
  return below(file)->pMethods->xTruncate(below(file), size);
}
int sync_file(sqlite3_file* file, int) {
  bool dropped = false;
  const int code = ours(file).disk->may_write(*ours(file).name, 0, 0, &dropped);
  if (code == SQLITE_OK && !dropped) ours(file).disk->synced(*ours(file).name);
  return code;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return below(file)->pMethods->xFileSize(below(file), size);
}
int lock_file(sqlite3_file* file, int how) {
  return below(file)->pMethods->xLock(below(file), how);
}
int unlock_file(sqlite3_file* file, int how) {
  return below(file)->pMethods->xUnlock(below(file), how);
}
int check_lock(sqlite3_file* file, int* locked) {
  return below(file)->pMethods->xCheckReservedLock(below(file), locked);
}
int control_file(sqlite3_file* file, int what, void* argument) {
  return below(file)->pMethods->xFileControl(below(file), what, argument);
}
int sector_size(sqlite3_file* file) {
  return below(file)->pMethods->xSectorSize(below(file));
}
int characteristics(sqlite3_file* file) {
  return below(file)->pMethods->xDeviceCharacteristics(below(file));
}
int map_shm(sqlite3_file* file, int page, int size, int extend, void volatile** where) {
  return below(file)->pMethods->xShmMap(below(file), page, size, extend, where);
}
int lock_shm(sqlite3_file* file, int offset, int n, int flags) {
  return below(file)->pMethods->xShmLock(below(file), offset, n, flags);
}
void barrier_shm(sqlite3_file* file) {
  below(file)->pMethods->xShmBarrier(below(file));
}
int unmap_shm(sqlite3_file* file, int remove) {
  return below(file)->pMethods->xShmUnmap(below(file), remove);
}

constexpr sqlite3_io_methods kMethods = {
    2,         close_file,  read_file,  write_file,   truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_lock, control_file, sector_size,   characteristics, map_shm,
    lock_shm,  barrier_shm, unmap_shm,  nullptr,      nullptr,
};

struct WorldVfs {
  sqlite3_vfs base;
  sqlite3_vfs* below;
  Disk* disk;
};

WorldVfs& vfs_of(sqlite3_vfs* vfs) {
  return *reinterpret_cast<WorldVfs*>(vfs);
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  WorldFile& made = ours(file);
  made.base.pMethods = nullptr;
  const int code = vfs_of(vfs).below->xOpen(vfs_of(vfs).below, name, made.below(), flags, out);
  if (code != SQLITE_OK) return code;
  made.disk = vfs_of(vfs).disk;
  made.name = new std::string(name == nullptr ? "" : name);  // NOLINT: owned by the C struct
  made.base.pMethods = &kMethods;
  return SQLITE_OK;
}
int delete_file(sqlite3_vfs* vfs, const char* name, int sync) {
  bool dropped = false;
  if (const int code = vfs_of(vfs).disk->may_write(name, 0, 0, &dropped);
      code != SQLITE_OK || dropped)
    return code;
  vfs_of(vfs).disk->synced(name);
  return vfs_of(vfs).below->xDelete(vfs_of(vfs).below, name, sync);
}

constexpr const char* kName = "holon-world";

}  // namespace

Disk::Disk(Machine& machine) : machine_(machine) {
  sqlite3_vfs* const system = sqlite3_vfs_find("unix");
  auto* const made = new WorldVfs{*system, system, this};  // NOLINT: given back in ~Disk()
  made->base.pNext = nullptr;
  made->base.zName = kName;
  made->base.szOsFile = static_cast<int>(sizeof(WorldFile)) + system->szOsFile;
  made->base.xOpen = open_file;
  made->base.xDelete = delete_file;
  sqlite3_vfs_register(&made->base, 1);
}

Disk::~Disk() {
  sqlite3_vfs* const made = sqlite3_vfs_find(kName);
  sqlite3_vfs_unregister(made);
  sqlite3_vfs_register(sqlite3_vfs_find("unix"), 1);
  delete reinterpret_cast<WorldVfs*>(made);  // NOLINT
}

int Disk::may_write(const std::string& file, std::int64_t end, std::int64_t size, bool* dropped) {
  if (machine_.current != nullptr && !machine_.current->has_effect()) {
    *dropped = true;
    return SQLITE_OK;
  }
  if (end <= size) return SQLITE_OK;
  for (const auto& dir : full_)
    if (file.starts_with(dir)) {
      *dropped = machine_.planted(Plant::silent_disk);
      return *dropped ? SQLITE_OK : SQLITE_FULL;
    }
  return SQLITE_OK;
}

void Disk::undo(const std::string& file) {
  const auto writes = undo_.extract(file);
  if (writes.empty()) return;
  const transport::UniqueFd fd(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return;
  auto& all = writes.mapped();
  for (auto write = all.rbegin(); write != all.rend(); ++write) {
    if (!write->before.empty() &&
        pwrite(fd.get(), write->before.data(), write->before.size(), write->offset) < 0)
      return;
    if (ftruncate(fd.get(), write->size) != 0) return;
  }
}

void Disk::lose_unsynced(const std::string& dir) {
  std::vector<std::string> files;
  for (const auto& [file, writes] : undo_)
    if (file.starts_with(dir + "/")) files.push_back(file);
  for (const auto& file : files) undo(file);
}

void Disk::lose_power() {
  lose_unsynced(machine_.dir);
}

namespace {

void copy_journal(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(to, error);
  for (const char* name : {"/journal.db", "/journal.db-wal"}) {
    fs::remove(to + name, error);
    fs::copy_file(from + name, to + name, fs::copy_options::overwrite_existing, error);
  }
}

}  // namespace

void Disk::take_snapshot(const std::string& dir) {
  copy_journal(dir, dir + ".snapshot");
}
std::string Disk::snapshot_of(const std::string& dir) const {
  return std::filesystem::exists(dir + ".snapshot/journal.db") ? dir + ".snapshot" : dir;
}
void Disk::go_back(const std::string& dir) {
  const auto from = snapshot_of(dir);
  if (from == dir) return;
  machine_.history.note("PLANT: the journal is an older one");
  copy_journal(from, dir);
}
void Disk::forget(const std::string& dir, const std::string& table, const std::string& where) {
  change(dir, "DELETE FROM " + table + " WHERE " + where);
}
void Disk::change(const std::string& dir, const std::string& statement) {
  sqlite3* journal = nullptr;
  if (sqlite3_open((dir + "/journal.db").c_str(), &journal) == SQLITE_OK &&
      sqlite3_exec(journal, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK &&
      sqlite3_changes(journal) > 0)
    machine_.history.note("PLANT: {}", statement);
  sqlite3_close(journal);
}

}  // namespace holon::world
