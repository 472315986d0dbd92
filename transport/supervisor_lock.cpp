#include "transport/supervisor_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace holon::transport {

namespace {

// A caller of supervisor_lives() has the lock itself for a moment. A supervisor whose lock failed
// for that would be thought dead for as long as it lives.
bool lock_patiently(int fd) {
  constexpr int kTries = 200;
  constexpr auto kPause = std::chrono::milliseconds(1);
  for (int i = 0; i < kTries; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

}  // namespace

void SupervisorLock::take() {
  UniqueFd file(open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file && !lock_patiently(file.get())) file.reset();
  fd_ = std::move(file);
}

bool SupervisorLock::is_lost() const {
  struct stat held {};
  struct stat named {};
  if (!fd_ || fstat(fd_.get(), &held) != 0) return false;
  return lstat(file_.c_str(), &named) != 0 || held.st_dev != named.st_dev ||
         held.st_ino != named.st_ino;
}

bool supervisor_lives(const std::string& runtime_dir) {
  const std::string name = runtime_dir + "/" + SupervisorLock::kFile;
  const UniqueFd file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  return file && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace holon::transport
