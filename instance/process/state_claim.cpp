#include "instance/process/state_claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "instance/basics/durable_file.hpp"
#include "instance/journal/instance_id.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/endpoint.hpp"

namespace holon::instance {
namespace {

constexpr int kTries = 120;
constexpr useconds_t kBetweenTries = 25'000;

// Reads proc(5): the state and flags follow the name, which may hold blanks and parentheses.
bool is_exiting(pid_t pid) {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(in, text);
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string state, skipped;
  unsigned long flags = 0;
  fields >> state;
  for (int i = 0; i < 5; ++i) fields >> skipped;
  if (!(fields >> flags)) return true;  // it is gone
  return state == "Z" || state == "X" || (flags & kExiting) != 0;
}

bool is_killed(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    const auto pending = std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 16);
    if ((pending >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

// Notes the holder for others that find the file locked.
void write_holder(int lock, const Holder& holder) {
  const std::string text = fmt::format("{}\n{}\n", holder.supervisor, holder.uri);
  if (ftruncate(lock, 0) != 0 || pwrite(lock, text.data(), text.size(), 0) < 0) return;
}

Holder read_holder(int lock) {
  std::array<char, 512> bytes{};
  const ssize_t n = pread(lock, bytes.data(), bytes.size(), 0);
  std::istringstream lines(std::string(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0));
  Holder holder;
  std::string pid;
  std::getline(lines, pid);
  holder.supervisor = static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10));
  std::getline(lines, holder.uri);
  return holder;
}

// "; its supervisor is process 12, HOLON_URI=ipc:///..."; as much of it as is known.
std::string text_of(const Holder& holder) {
  if (holder.supervisor <= 0) return {};
  return fmt::format("; its supervisor is process {}{}", holder.supervisor,
                     holder.uri.empty() ? "" : ", HOLON_URI=" + holder.uri);
}

// Somebody listens at its address, and its supervisor is not about to end: a killed process keeps
// its locks until the kernel is done with it.
bool is_at_work(const Holder& holder) {
  if (holder.supervisor <= 0 || holder.uri.empty()) return false;
  const auto listens = transport::probe_ipc(holder.uri);
  return listens && *listens == transport::IpcState::alive && !is_exiting(holder.supervisor) &&
         !is_killed(holder.supervisor);
}

Result<transport::UniqueFd> lock_directory(const std::string& dir, const std::string& uri,
                                           int tries) {
  const std::string file = dir + "/lock";
  transport::UniqueFd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return system_error({}, file);
  // A supervisor that was killed just now holds the lock until the kernel is done with it.
  for (int i = 0; i < tries; ++i) {
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      write_holder(lock.get(), {getpid(), uri});
      return lock;
    }
    if (errno != EWOULDBLOCK) return system_error({}, file);
    if (is_at_work(read_holder(lock.get()))) break;
    usleep(kBetweenTries);
  }
  return fail(Errc::busy,
              "a running instance uses this state directory" + text_of(read_holder(lock.get())),
              dir);
}

// The file, if a supervisor has it locked. A supervisor that tries meanwhile tries again.
transport::UniqueFd claimed_lock(const std::string& dir) {
  transport::UniqueFd lock(open((dir + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return {};
  return lock;
}

std::string lineage_file(const std::string& dir) {
  return dir + "/instance.lineage";
}

Result<std::string> inode_of(const std::string& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) return system_error(dir);
  return std::to_string(info.st_ino);
}

// The mark of a directory that was made again, kept with its inode: a copy has another inode.
std::optional<std::string> kept_mark(const std::string& dir, const std::string& inode) {
  std::ifstream in(lineage_file(dir));
  std::string mark, made_for;
  if (std::getline(in, mark) && std::getline(in, made_for) && made_for == inode) return mark;
  return std::nullopt;
}

// The broker writes the same file: whichever is first stays, and the broker's text says more.
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

bool is_claimed(const std::string& state_dir) {
  return static_cast<bool>(claimed_lock(state_dir));
}

Holder at_work_on(const std::string& state_dir) {
  const auto lock = claimed_lock(state_dir);
  if (!lock) return {};
  Holder holder = read_holder(lock.get());
  return is_at_work(holder) ? holder : Holder();
}

Result<StateClaim> StateClaim::take(const std::string& dir, const std::string& runtime_dir) {
  StateClaim claim;
  if (const auto uri = transport::ipc_uri(runtime_dir, "broker")) claim.uri = *uri;
  auto lock = lock_directory(dir, claim.uri, kTries);
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
  auto again = lock_directory(dir, uri, 1);
  if (!again) return tl::unexpected(again.error());
  lock = std::move(*again);
  if (auto written = write_id_if_missing(dir, id); !written) return written;
  const auto inode = inode_of(dir);
  if (!inode) return tl::unexpected(inode.error());
  if (mark == id + "-" + *inode || kept_mark(dir, *inode) == mark) return {};
  return write_durably(lineage_file(dir), mark + "\n" + *inode + "\n");
}

// A child is part of its parent's tree, and known by its job there; a root has its own lineage.
std::string take_lineage(const StateClaim& claim, bool is_child) {
  const char* const outer = std::getenv(kLineage);
  std::string lineage = outer != nullptr ? outer : "";
  if (!is_child || lineage.empty()) lineage = launch::lineage_of_root(lineage, claim.mark);
  setenv(kLineage, lineage.c_str(), 1);
  return lineage;
}

}  // namespace holon::instance
