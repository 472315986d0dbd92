#include "launch/tracking/cgroup.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "launch/tracking/process.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {
namespace {

namespace fs = std::filesystem;

// Blanks and the like are "\040" in /proc/self/mountinfo.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

struct Mount {
  std::string root;  // the part of the hierarchy that is visible ...
  std::string dir;   // ... here
};

// A line: "31 23 0:28 ROOT DIR OPTIONS [TAGS] - TYPE SOURCE OPTIONS".
Result<Mount> find_mount() {
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos || line.compare(dash + 3, 8, "cgroup2 ") != 0) continue;
    std::istringstream words(line);
    std::string number, parent, device, root, dir;
    words >> number >> parent >> device >> root >> dir;
    return Mount{unescaped(root), unescaped(dir)};
  }
  return fail(Errc::unsupported, "no cgroup v2 hierarchy is mounted");
}

Result<std::string> own_path() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return fail(Errc::unsupported, "this process is in no cgroup v2");
}

std::vector<std::string> cgroups_below(const std::string& dir) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->is_directory(gone)) found.push_back(entry->path().string());
  }
  return found;
}

std::set<pid_t> processes_in(const std::string& dir) {
  std::set<pid_t> found;
  std::ifstream in(dir + "/cgroup.procs");
  for (pid_t pid = 0; in >> pid;) found.insert(pid);
  return found;
}

// False: there is no such file, or it refuses that.
bool write_to(const std::string& file, const char* word) {
  const transport::UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(std::strlen(word));
  return fd && write(fd.get(), word, std::strlen(word)) == size;
}

// For kernels before 5.14, whose cgroups have no cgroup.kill. A frozen process starts nothing, and
// can be killed.
//
// The number of a process that has ended may be another's when it is signalled. So the list is read
// twice: a process that was there before the second reading, and still is when it is signalled, is
// the one that this reading means.
void signal_each(const std::string& dir) {
  write_to(dir + "/cgroup.freeze", "1");
  std::vector<ProcessStat> before;
  for (const pid_t pid : processes_in(dir))
    if (const auto process = stat_of(pid)) before.push_back(*process);
  const auto there = processes_in(dir);
  for (const auto& process : before)
    if (there.contains(process.pid)) signal_process(process, SIGKILL);
  for (const auto& below : cgroups_below(dir)) signal_each(below);
  write_to(dir + "/cgroup.freeze", "0");  // the next job may get it
}

// Starts a process there: permissions, the cgroup's type, filters of system calls show only then.
Status try_to_start_in(const std::string& dir) {
  const transport::UniqueFd cgroup(open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(cgroup.get());
  const auto pid = cgroup ? static_cast<pid_t>(syscall(SYS_clone3, &how, sizeof how)) : -1;
  if (pid == 0) _exit(0);
  if (pid < 0)
    return fail(Errc::system, std::string("cannot start a process there: ") + std::strerror(errno),
                dir);
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (status == 0) return {};
  return fail(Errc::system, "what is started there does not live", dir);
}

}  // namespace

Result<std::string> own_cgroup() {
  const auto mount = find_mount();
  if (!mount) return tl::unexpected<Error>(mount.error());
  auto path = own_path();
  if (!path) return path;
  if (mount->root != "/") {
    if (!path->starts_with(mount->root))
      return fail(Errc::unsupported, "the cgroup of this process is not in what is mounted");
    path->erase(0, mount->root.size());
  }
  if (path->starts_with("/.."))
    return fail(Errc::unsupported, "the cgroup of this process is outside of its namespace");
  return mount->dir + (*path == "/" ? "" : *path);
}

Status make_cgroup(const std::string& dir) {
  if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST)
    return fail(Errc::system, std::string("cannot be made: ") + std::strerror(errno), dir);
  auto tried = try_to_start_in(dir);
  if (!tried) rmdir(dir.c_str());
  return tried;
}

bool is_populated(const std::string& dir) {
  return text_of_file(dir + "/cgroup.events").find("populated 1") != std::string::npos;
}

std::vector<pid_t> processes_below(const std::string& dir) {
  const auto here = processes_in(dir);
  std::vector<pid_t> all(here.begin(), here.end());
  for (const auto& below : cgroups_below(dir)) {
    const auto more = processes_below(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

bool offer_memory_bounds(const std::string& dir) {
  return text_of_file(dir + "/cgroup.controllers").find("memory") != std::string::npos &&
         write_to(dir + "/cgroup.subtree_control", "+memory");
}

// Without the swap bound the excess would go to swap, if the machine has some; a kernel without
// swap accounting has no such file.
bool bound_memory(const std::string& dir, std::int64_t bytes) {
  if (!write_to(dir + "/memory.max", std::to_string(bytes).c_str())) return false;
  write_to(dir + "/memory.swap.max", "0");
  write_to(dir + "/memory.oom.group", "1");
  return true;
}

bool ran_out_of_memory(const std::string& dir) {
  std::istringstream events(text_of_file(dir + "/memory.events"));
  std::string name;
  for (std::int64_t count = 0; events >> name >> count;)
    if (name == "oom_kill") return count > 0;
  return false;
}

std::optional<std::int64_t> memory_peak(const std::string& dir) {
  std::istringstream text(text_of_file(dir + "/memory.peak"));
  std::int64_t bytes = 0;
  return text >> bytes ? std::optional(bytes) : std::nullopt;
}

void kill_cgroup(const std::string& dir) {
  if (!write_to(dir + "/cgroup.kill", "1")) signal_each(dir);
}

void remove_cgroup(const std::string& dir) {
  remove_cgroups_below(dir);
  rmdir(dir.c_str());
}

void remove_cgroups_below(const std::string& dir) {
  for (const auto& below : cgroups_below(dir)) remove_cgroup(below);
}

}  // namespace holon::launch
