#include "launch/tracking/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "launch/tracking/lineage.hpp"
#include "transport/unique_fd.hpp"

extern "C" {            // glibc 2.36 forgot to say so in this header
#include <sys/pidfd.h>  // NOLINT: after the others because of that
}

namespace holon::launch {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kEnvironmentAtOnce = 128 * 1024;
constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the flags in /proc/PID/stat

std::vector<pid_t> numbers_in(const std::string& dir) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(dir.c_str()), &closedir);
  if (!open) return numbers;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.begin(), name.end(), number);
    if (error == std::errc{} && end == name.end()) numbers.push_back(number);
  }
  return numbers;
}

// The n-th blank-separated number, from 0; 0 if there is none.
std::uint64_t number_in(std::string_view text, int n) {
  std::size_t at = 0;
  for (; n >= 0; --n) {
    at = text.find(' ', at);
    if (at == std::string_view::npos) return 0;
    ++at;
  }
  std::uint64_t number = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

// Uses no stream: the exception of one whose process ends between open(2) and read(2) would end
// this process.
std::string read_all(int file, std::size_t at_once) {
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + at_once);
    const ssize_t n = read(file, text.data() + before, at_once);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n <= 0) return text;
  }
}

}  // namespace

std::string text_of_file(const std::string& path) {
  const transport::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? read_all(file.get(), kPage) : "";
}

// "pid (name) state ppid pgrp ... starttime ...": the name may have any characters, blanks and
// brackets too, so the fields are counted from its last bracket. Read for every task that is
// started: no streams here.
std::optional<ProcessStat> stat_of(pid_t pid) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  std::array<char, 1024> buffer;
  const int fd = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  close(fd);
  const std::string_view text(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const auto bracket = text.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 >= text.size()) return std::nullopt;
  ProcessStat stat;
  stat.pid = pid;
  stat.state = text[bracket + 2];
  const std::string_view rest = text.substr(bracket + 3);  // from field 4, its blank included
  stat.parent = static_cast<pid_t>(number_in(rest, 0));
  stat.group = static_cast<pid_t>(number_in(rest, 1));
  stat.session = static_cast<pid_t>(number_in(rest, 2));
  stat.of_kernel = (number_in(rest, 5) & kKernelThread) != 0;
  stat.threads = number_in(rest, 16);
  stat.start = number_in(rest, 18);
  // execve(2) writes where the code begins only after where the environment ends.
  const bool is_settled = number_in(rest, 22) > 1;
  stat.has_empty_environment = is_settled && number_in(rest, 46) == number_in(rest, 47);
  return stat;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> processes;
  for (const pid_t pid : numbers_in("/proc"))
    if (const auto stat = stat_of(pid)) processes.push_back(*stat);
  return processes;
}

namespace {

std::string value_in(const std::string& block, const std::string& name) {
  const std::string key = name + "=";
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\0', at), block.size());
    if (block.compare(at, key.size(), key) == 0)
      return block.substr(at + key.size(), end - at - key.size());
    at = end + 1;
  }
  return "";
}

}  // namespace

// A read holds the memory of the program that ran when the file was opened; once another program
// has taken its place, it yields nothing. So an environment is read in one piece, and one that
// reads as empty is empty only if the process's own numbers say so.
std::optional<std::string> variable_of(const ProcessStat& process, const std::string& name) {
  if (process.of_kernel) return "";
  const std::string path = "/proc/" + std::to_string(process.pid) + "/environ";
  const transport::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return errno == EACCES || errno == EPERM ? std::optional<std::string>("") : std::nullopt;
  if (const std::string block = read_all(file.get(), kEnvironmentAtOnce); !block.empty())
    return value_in(block, name);
  const auto now = stat_of(process.pid);
  if (now && now->has_empty_environment) return "";
  return std::nullopt;
}

bool signal_process(const ProcessStat& process, int signal) {
  const transport::UniqueFd handle(pidfd_open(process.pid, 0));
  if (!handle) return false;
  // From here on the handle means one process; is it the right one?
  const auto now = stat_of(process.pid);
  return now && now->start == process.start &&
         pidfd_send_signal(handle.get(), signal, nullptr, 0) == 0;
}

std::string process_numbering() {
  std::string boot = text_of_file("/proc/sys/kernel/random/boot_id");
  if (boot.ends_with('\n')) boot.pop_back();
  std::error_code none;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/pid", none).string();
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  const std::string threads = "/proc/" + std::to_string(process) + "/task";
  for (const pid_t thread : numbers_in(threads)) {
    std::ifstream file(threads + "/" + std::to_string(thread) + "/children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> own_children() {
  const pid_t self = getpid();
  if (access(("/proc/self/task/" + std::to_string(self) + "/children").c_str(), F_OK) == 0)
    return children_of(self);
  std::vector<pid_t> children;
  for (const ProcessStat& stat : all_processes())
    if (stat.parent == self) children.push_back(stat.pid);
  return children;
}

void end_own_children() {
  for (int round = 0; round < 200; ++round) {
    for (const pid_t pid : own_children()) kill(pid, SIGKILL);
    pid_t gone = 0;
    while ((gone = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    if (gone < 0) return;  // no children left
    usleep(10'000);        // nothing else runs any more in this process
  }
}

std::size_t kill_sessions(const std::vector<msg::ProcessId>& leaders, const std::string& prefix) {
  std::unordered_map<pid_t, std::uint64_t> wanted;
  for (const msg::ProcessId& leader : leaders)
    if (leader.pid > 1 && leader.start != 0) wanted[static_cast<pid_t>(leader.pid)] = leader.start;
  if (wanted.empty()) return 0;
  const auto processes = all_processes();
  const auto is_elses = [&](const ProcessStat& process) {
    const auto lineage = variable_of(process, kLineage);
    return lineage && !lineage->empty() && !is_within(*lineage, prefix);
  };
  // If a number is in use by a process with another start, its session is not the one that was
  // meant. A copied journal names processes of another instance.
  for (const ProcessStat& process : processes)
    if (const auto found = wanted.find(process.pid);
        found != wanted.end() && (found->second != process.start || is_elses(process)))
      wanted.erase(found);
  std::size_t alive = 0;
  for (const ProcessStat& process : processes) {
    auto found = wanted.find(process.pid);
    if (found == wanted.end()) found = wanted.find(process.session);
    if (found == wanted.end() || process.start < found->second || process.is_over() ||
        is_elses(process))
      continue;
    signal_process(process, SIGKILL);
    ++alive;
  }
  return alive;
}

}  // namespace holon::launch
