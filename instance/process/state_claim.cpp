#include "instance/process/state_claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "instance/instance_id.hpp"

namespace holon::instance {
namespace {

constexpr int kTries = 40;
constexpr useconds_t kBetweenTries = 25'000;

// For whoever finds it locked.
void say_supervisor(int fd) {
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

// "" where it is not known.
std::string supervisor_of(int fd) {
  std::array<char, 20> text{};
  const ssize_t n = pread(fd, text.data(), text.size() - 1, 0);
  const long pid = n > 0 ? std::strtol(text.data(), nullptr, 10) : 0;
  return pid > 0 ? "; its supervisor is process " + std::to_string(pid) : "";
}

Result<transport::UniqueFd> lock_directory(const std::string& dir) {
  const std::string file = dir + "/lock";
  transport::UniqueFd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return system_error({}, file);
  // A supervisor that was killed just now holds it until the kernel is done with it.
  for (int i = 0; i < kTries; ++i) {
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      say_supervisor(lock.get());
      return lock;
    }
    if (errno != EWOULDBLOCK) return system_error({}, file);
    usleep(kBetweenTries);
  }
  return fail(Errc::busy,
              "a running instance uses this state directory" + supervisor_of(lock.get()), dir);
}

}  // namespace

Result<StateClaim> StateClaim::take(const std::string& dir) {
  StateClaim claim;
  auto lock = lock_directory(dir);
  if (!lock) return tl::unexpected(lock.error());
  claim.lock = std::move(*lock);
  const auto known = read_instance_id(dir);
  if (!known) return tl::unexpected(known.error());
  claim.is_new = !*known;
  const auto id = instance_id(dir);
  if (!id) return tl::unexpected(id.error());
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) return system_error(dir);
  claim.mark = *id + "-" + std::to_string(info.st_ino);
  return claim;
}

}  // namespace holon::instance
