#include "launch/mpi/job_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace holon::launch {
namespace {

constexpr const char* kBeginning = "holon-mpi-";

transport::UniqueFd lock_of(const std::string& folder) {
  transport::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

void remove_left_ones(const std::string& base, std::int64_t young) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    const std::string path = entry.path().string();
    struct stat info {};
    if (!entry.path().filename().string().starts_with(kBeginning) ||
        lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
        std::time(nullptr) - info.st_ctime < young)
      continue;
    if (const auto lock = lock_of(path)) std::filesystem::remove_all(path, error);
  }
}

}  // namespace

std::string JobFolder::usual_base() {
  return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

Result<JobFolder> JobFolder::create(const std::string& base, std::int64_t young) {
  remove_left_ones(base, young);
  std::string path = base + "/" + kBeginning + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail(Errc::system, std::strerror(errno), path);
  auto lock = lock_of(path);
  if (!lock) return fail(Errc::system, "cannot be locked", path);
  return JobFolder(std::move(path), std::move(lock));
}

JobFolder::~JobFolder() {
  std::error_code gone;
  if (lock_) std::filesystem::remove_all(path_, gone);
}

}  // namespace holon::launch
