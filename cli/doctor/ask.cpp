#include "cli/doctor/ask.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "transport/unique_fd.hpp"

extern char** environ;  // NOLINT: POSIX names it so

namespace holon::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Reads to the end of the stream, or until the deadline. False: it took too long.
bool read_all(int fd, Clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(left)) <= 0) continue;
    char bytes[4096];
    const auto n = read(fd, bytes, sizeof bytes);
    if (n == 0) return true;
    if (n > 0) text.append(bytes, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return true;
  }
}

// The first line of the standard error of a program that failed.
std::string first_line(int file) {
  char bytes[1024];
  const auto n = file < 0 ? -1 : pread(file, bytes, sizeof bytes, 0);
  std::string line(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  line.resize(std::min(line.find('\n'), line.size()));
  return line.empty() ? "it failed" : line;
}

}  // namespace

Result<std::string> ask(const std::vector<std::string>& command, Duration patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe");
  const transport::UniqueFd input(ends[0]);
  transport::UniqueFd output(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  const transport::UniqueFd errors(memfd_create("errors", MFD_CLOEXEC));
  if (errors.get() >= 0) posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  output = {};
  if (failed != 0)
    return fail(failed == ENOENT ? Errc::not_found : Errc::system,
                failed == ENOENT ? "there is no such program in PATH" : "it cannot be started",
                command[0]);
  std::string text;
  const bool in_time =
      read_all(input.get(), Clock::now() + std::chrono::milliseconds(patience), text);
  if (!in_time) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time)
    return fail(Errc::timed_out, fmt::format("no answer within {} s", patience / 1000), command[0]);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(Errc::system, first_line(errors.get()), command[0]);
  return text;
}

}  // namespace holon::cli
