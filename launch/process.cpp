#include "launch/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace holon::launch {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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

// The n-th blank-separated number, from 0; 0 where there is none.
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

}  // namespace

// "pid (name) state ppid pgrp ... starttime ...": the name may hold anything, blanks and brackets
// too, so the fields are counted from its last bracket. Read for every task that is started: no
// streams here.
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
  stat.start = number_in(rest, 18);
  return stat;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> processes;
  for (const pid_t pid : numbers_in("/proc"))
    if (const auto stat = stat_of(pid)) processes.push_back(*stat);
  return processes;
}

std::string variable_of(pid_t pid, const std::string& name) {
  const std::string block = read_file("/proc/" + std::to_string(pid) + "/environ");
  const std::string key = name + "=";
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\0', at), block.size());
    if (block.compare(at, key.size(), key) == 0)
      return block.substr(at + key.size(), end - at - key.size());
    at = end + 1;
  }
  return "";
}

std::vector<std::string> command_of(pid_t pid) {
  const std::string block = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\0', at), block.size());
    words.push_back(block.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  const pid_t self = getpid();
  if (access(("/proc/self/task/" + std::to_string(self) + "/children").c_str(), F_OK) == 0) {
    for (const pid_t thread : numbers_in("/proc/self/task")) {
      std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/children");
      for (pid_t child = 0; file >> child;) children.push_back(child);
    }
    return children;
  }
  for (const ProcessStat& stat : all_processes())
    if (stat.parent == self) children.push_back(stat.pid);
  return children;
}

std::size_t kill_groups(const std::vector<msg::ProcessId>& leaders) {
  std::unordered_map<pid_t, std::uint64_t> wanted;
  for (const msg::ProcessId& leader : leaders)
    if (leader.pid > 1 && leader.start != 0) wanted[static_cast<pid_t>(leader.pid)] = leader.start;
  if (wanted.empty()) return 0;
  const auto processes = all_processes();
  // A number in use as a process with another start was given away: its group is not the one that
  // was meant.
  for (const ProcessStat& process : processes)
    if (const auto found = wanted.find(process.pid);
        found != wanted.end() && found->second != process.start)
      wanted.erase(found);
  std::size_t signalled = 0;
  for (const ProcessStat& process : processes) {
    const auto found = wanted.find(process.group);
    if (found == wanted.end() || process.start < found->second || process.state == 'Z') continue;
    if (process.pid != process.group && variable_of(process.pid, "HOLON_JOB_PATH").empty())
      continue;
    if (kill(process.pid, SIGKILL) == 0) ++signalled;
  }
  return signalled;
}

}  // namespace holon::launch
