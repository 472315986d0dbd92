#include "launch/files/job_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace holon::launch {
namespace {

constexpr const char* kNew = "new-";  // behind the kind, of one that has no lock yet
constexpr std::time_t kYoung = 60;    // s that one has to get it

transport::UniqueFd lock_of(const std::string& folder) {
  transport::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

tl::unexpected<Error> name_failed(const std::string& path, const std::string& name) {
  const std::string why = std::strerror(errno);
  rmdir(path.c_str());
  return fail(Errc::system, why, name);
}

bool is_own_and_left(const std::string& path, bool is_new) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid())
    return false;
  return !is_new || std::time(nullptr) - info.st_ctime >= kYoung;
}

}  // namespace

std::string JobFolder::memory_base() {
  return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

void JobFolder::remove_left(const std::string& kind, const std::string& base) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator entry(base, error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string(), path = entry->path().string();
    if (!name.starts_with(kind) || !is_own_and_left(path, name.starts_with(kind + kNew))) continue;
    std::error_code ignored;
    if (const auto lock = lock_of(path)) fs::remove_all(path, ignored);
  }
}

Result<JobFolder> JobFolder::create(const std::string& kind, const std::string& base) {
  std::string path = base + "/" + kind + kNew + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail(Errc::system, std::strerror(errno), path);
  JobFolder made(path, lock_of(path));
  if (!made.lock_) {
    const std::string why = std::strerror(errno);
    rmdir(path.c_str());
    return fail(Errc::system, "cannot be locked: " + why, path);
  }
  const std::string name = base + "/" + kind + path.substr(path.size() - 6);
  if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) != 0 &&
      (errno != EINVAL || std::rename(path.c_str(), name.c_str()) != 0))  // some file systems
    return name_failed(path, name);
  made.path_ = name;
  made.is_own_ = true;
  return made;
}

JobFolder::~JobFolder() {
  std::error_code gone;
  if (lock_ && is_own_) std::filesystem::remove_all(path_, gone);
}

}  // namespace holon::launch
