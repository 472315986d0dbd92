#include "launch/files/job_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

namespace holon::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = ".lock";
constexpr std::size_t kRandom = 6;  // characters, as mkostemps() makes them

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The host as part of a name. It is short: addresses of sockets may be below the folder.
const std::string& host_part() {
  static const std::string part = [] {
    constexpr std::size_t kLongest = 24;
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    const std::string host = name.data();
    const bool is_plain = std::all_of(host.begin(), host.end(), [](char c) {
      return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
    });
    if (is_plain && host.size() <= kLongest) return host;
    return fmt::format("{:016x}", std::hash<std::string>()(host));
  }();
  return part;
}

std::string beginning_of(const std::string& kind) {
  return kind + host_part() + "-";
}

// Opens a file for writing, since NFS gives no exclusive lock otherwise, and locks it. Without a
// descriptor: it is locked by another process, or gone by now.
transport::UniqueFd locked(const std::string& file) {
  transport::UniqueFd fd(open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (fd && (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
             flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || fstat(fd.get(), &info) != 0 ||
             info.st_nlink == 0))
    fd.reset();
  return fd;
}

bool remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return !error;
}

// Restores permissions: the owner of a folder may have taken those away that its removal needs.
void open_folders(const std::string& path) {
  std::error_code error;
  const auto open_one = [](const fs::path& folder) {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, ignored);
  };
  if (fs::symlink_status(path, error).type() != fs::file_type::directory) return;
  open_one(path);
  for (fs::recursive_directory_iterator entry(path, error), last; !error && entry != last;
       entry.increment(error))
    if (entry->symlink_status(error).type() == fs::file_type::directory) open_one(entry->path());
}

// Tries again if a search for left folders got the new file before it was locked, and removed it.
Result<transport::UniqueFd> new_lock(const std::string& pattern, std::string& name) {
  constexpr int kAttempts = 16;
  for (int i = 0; i < kAttempts; ++i) {
    name = pattern;
    transport::UniqueFd fd(mkostemps(name.data(), static_cast<int>(kLock.size()), O_CLOEXEC));
    if (!fd) return fail(errc_of(errno), std::strerror(errno));
    struct stat info {};
    const bool is_locked = flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
    if (is_locked && fstat(fd.get(), &info) == 0 && info.st_nlink > 0) return fd;
    if (!is_locked && errno != EWOULDBLOCK) {
      const std::string why = std::strerror(errno);
      unlink(name.c_str());
      return fail(Errc::system, "cannot be locked: " + why);
    }
  }
  return fail(Errc::system, "others remove what is made there");
}

// Without a descriptor: the file system locks no folders. NFS needs a descriptor for writing.
transport::UniqueFd locked_folder(const std::string& path) {
  transport::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

}  // namespace

std::string JobFolder::memory_base() {
  return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

bool JobFolder::is_name(const std::string& kind, std::string_view name) {
  const std::string beginning = beginning_of(kind);
  return name.size() == beginning.size() + kRandom && name.starts_with(beginning) &&
         std::all_of(name.end() - kRandom, name.end(), is_letter_or_digit);
}

std::string JobFolder::folder_of_lock(const std::string& kind, const std::string& name) {
  if (!name.starts_with('.') || !name.ends_with(kLock)) return "";
  std::string folder = name.substr(1, name.size() - 1 - kLock.size());
  return is_name(kind, folder) ? folder : "";
}

void JobFolder::remove_left(const std::string& kind, const std::string& base) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(base, error), last; !error && entry != last;
       entry.increment(error))
    if (auto name = folder_of_lock(kind, entry->path().filename().string()); !name.empty())
      names.push_back(std::move(name));
  for (const std::string& name : names) {
    const std::string path = base + "/" + name, file = base + "/." + name + std::string(kLock);
    const auto lock = locked(file);
    if (!lock) continue;
    bool is_gone = remove_all(path);
    if (!is_gone) {
      open_folders(path);
      is_gone = remove_all(path);
    }
    if (is_gone) unlink(file.c_str());
  }
}

Result<JobFolder> JobFolder::create(const std::string& kind, const std::string& base) {
  const std::string pattern = beginning_of(kind) + std::string(kRandom, 'X');
  std::string file;
  auto lock = new_lock(base + "/." + pattern + std::string(kLock), file);
  if (!lock) return fail(lock.error().code, lock.error().what, base + "/" + pattern);
  JobFolder made(base + "/" + folder_of_lock(kind, file.substr(base.size() + 1)), std::move(*lock),
                 transport::UniqueFd());
  if (mkdir(made.path_.c_str(), S_IRWXU) != 0) {
    const auto refused = fail(errc_of(errno), std::strerror(errno), made.path_);
    unlink(file.c_str());
    return refused;
  }
  made.inside_ = locked_folder(made.path_);
  made.is_own_ = true;
  return made;
}

std::string JobFolder::lock_path() const {
  const auto slash = path_.rfind('/');
  return path_.substr(0, slash + 1) + "." + path_.substr(slash + 1) + std::string(kLock);
}

std::vector<int> JobFolder::locks() const {
  std::vector<int> all = {lock_.get()};
  if (inside_) all.push_back(inside_.get());
  return all;
}

Result<transport::UniqueFd> JobFolder::open() const {
  transport::UniqueFd fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail(Errc::system, std::strerror(errno), path_);
  return fd;
}

void JobFolder::remove_lock() {
  unlink(lock_path().c_str());
  is_own_ = false;
}

JobFolder::~JobFolder() {
  if (lock_ && is_own_ && remove_all(path_)) remove_lock();
}

}  // namespace holon::launch
