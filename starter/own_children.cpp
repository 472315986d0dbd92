#include "starter/own_children.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace holon::starter {
namespace {

// Nothing where there is no such file.
std::optional<std::string> read_all(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(fd);
  return text;
}

std::vector<pid_t> numbers_in(const std::string& text) {
  std::vector<pid_t> numbers;
  char* at = nullptr;
  for (const char* from = text.c_str();; from = at) {
    const long number = std::strtol(from, &at, 10);
    if (at == from) return numbers;
    if (number > 1) numbers.push_back(static_cast<pid_t>(number));
  }
}

// The fourth field of /proc/PID/stat; the second is any name in parentheses.
pid_t parent_of(pid_t pid) {
  const auto text = read_all("/proc/" + std::to_string(pid) + "/stat");
  const auto end = text ? text->rfind(')') : std::string::npos;
  if (end == std::string::npos || text->size() < end + 4) return 0;
  return static_cast<pid_t>(std::strtol(text->c_str() + end + 4, nullptr, 10));
}

// Of a kernel without lists of children.
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

std::vector<pid_t> own_children() {
  const std::string self = std::to_string(getpid());
  if (const auto text = read_all("/proc/self/task/" + self + "/children")) return numbers_in(*text);
  return by_their_parents();
}

}  // namespace holon::starter
