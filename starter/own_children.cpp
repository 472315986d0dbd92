#include "starter/own_children.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace holon::starter {
namespace {

constexpr std::size_t kMostOfAStat = 4096;
constexpr std::size_t kMostOfAList = std::size_t{16} << 20;

std::vector<pid_t> numbers_in(const std::string& text) {
  std::vector<pid_t> numbers;
  char* at = nullptr;
  for (const char* from = text.c_str();; from = at) {
    const long number = std::strtol(from, &at, 10);
    if (at == from) return numbers;
    if (number > 1) numbers.push_back(static_cast<pid_t>(number));
  }
}

// Finds children on a kernel without lists of them.
std::vector<pid_t> by_their_parents() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc"), &closedir);
  while (const dirent* entry = all ? readdir(all.get()) : nullptr) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 1 && parent_of(pid) == getpid()) found.push_back(pid);
  }
  return found;
}

}  // namespace

std::optional<std::string> read_all(const std::string& path, std::size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; text.size() < most && (n = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::min(static_cast<std::size_t>(n), most - text.size()));
  close(fd);
  return text;
}

// Reads the fourth field of /proc/PID/stat; the second is any name in parentheses.
pid_t parent_of(pid_t pid) {
  const auto text = read_all("/proc/" + std::to_string(pid) + "/stat", kMostOfAStat);
  const auto end = text ? text->rfind(')') : std::string::npos;
  if (end == std::string::npos || text->size() < end + 4) return 0;
  return static_cast<pid_t>(std::strtol(text->c_str() + end + 4, nullptr, 10));
}

std::vector<pid_t> own_children() {
  const std::string self = std::to_string(getpid());
  if (const auto text = read_all("/proc/self/task/" + self + "/children", kMostOfAList))
    return numbers_in(*text);
  return by_their_parents();
}

}  // namespace holon::starter
