#include "instance/process/state_claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "instance/instance_id.hpp"
#include "instance/journal/durable_file.hpp"

namespace holon::instance {
namespace {

constexpr int kTries = 120;
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

Result<transport::UniqueFd> lock_directory(const std::string& dir, int tries) {
  const std::string file = dir + "/lock";
  transport::UniqueFd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return system_error({}, file);
  // A supervisor that was killed just now holds it until the kernel is done with it.
  for (int i = 0; i < tries; ++i) {
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

std::string lineage_file(const std::string& dir) {
  return dir + "/instance.lineage";
}

Result<std::string> inode_of(const std::string& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) return system_error(dir);
  return std::to_string(info.st_ino);
}

// The mark of a directory that was made again, and its inode: a copy has another one.
std::optional<std::string> kept_mark(const std::string& dir, const std::string& inode) {
  std::ifstream in(lineage_file(dir));
  std::string mark, made_for;
  if (std::getline(in, mark) && std::getline(in, made_for) && made_for == inode) return mark;
  return std::nullopt;
}

// Whichever of two writes it first: the broker's text says more.
Status write_id_if_missing(const std::string& dir, const std::string& id) {
  const std::string file = dir + "/instance.id";
  const transport::UniqueFd out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out && errno == EEXIST) return {};
  const std::string line = id + "\n";
  if (out && write(out.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return {};
  return system_error({}, file);
}

}  // namespace

Result<StateClaim> StateClaim::take(const std::string& dir) {
  StateClaim claim;
  auto lock = lock_directory(dir, kTries);
  if (!lock) return tl::unexpected(lock.error());
  claim.lock = std::move(*lock);
  const auto known = read_instance_id(dir);
  if (!known) return tl::unexpected(known.error());
  claim.is_new = !*known;
  const auto id = instance_id(dir);
  if (!id) return tl::unexpected(id.error());
  const auto inode = inode_of(dir);
  if (!inode) return tl::unexpected(inode.error());
  claim.id = *id;
  claim.mark = kept_mark(dir, *inode).value_or(*id + "-" + *inode);
  return claim;
}

bool StateClaim::is_lost(const std::string& dir) const {
  struct stat held {};
  struct stat named {};
  if (!lock || fstat(lock.get(), &held) != 0) return false;
  return stat((dir + "/lock").c_str(), &named) != 0 || held.st_dev != named.st_dev ||
         held.st_ino != named.st_ino;
}

Status StateClaim::take_again(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(dir).parent_path(), error);
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return system_error(dir);
  auto again = lock_directory(dir, 1);
  if (!again) return tl::unexpected(again.error());
  lock = std::move(*again);
  if (auto written = write_id_if_missing(dir, id); !written) return written;
  const auto inode = inode_of(dir);
  if (!inode) return tl::unexpected(inode.error());
  if (mark == id + "-" + *inode || kept_mark(dir, *inode) == mark) return {};
  return write_durably(lineage_file(dir), mark + "\n" + *inode + "\n");
}

}  // namespace holon::instance
