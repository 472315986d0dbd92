#include "standalone/getent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>

#include "base/whole_file.hpp"

namespace holon::standalone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOfAnswer = 1 << 20;
constexpr std::size_t kMostOfSwitch = 1 << 20;

// Closes a descriptor that getent's end of a pipe is.
class End {
 public:
  explicit End(int fd) : fd_(fd) {}
  ~End() { close_now(); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  int fd() const { return fd_; }
  void close_now() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// Reads to the end of the stream. False: it takes too long, or has too much.
bool read_answer(int fd, Clock::time_point deadline, std::string& text) {
  std::array<char, 4096> bytes;
  while (text.size() < kMostOfAnswer) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(left)) <= 0) continue;
    const auto n = read(fd, bytes.data(), bytes.size());
    if (n == 0) return true;
    if (n > 0) text.append(bytes.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
  }
  return false;
}

// Starts it with no signal blocked or ignored, and with nothing of this process's environment.
pid_t start(std::vector<std::string> words, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string path = "PATH=/usr/bin:/bin", locale = "LC_ALL=C";
  std::array<char*, 3> environment = {path.data(), locale.data(), nullptr};
  pid_t pid = -1;
  if (posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(),
                  environment.data()) != 0)
    pid = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// Who has told the kernel to reap by itself gets no exit code: then the text is all there is.
bool has_succeeded(pid_t pid) {
  int status = 0;
  for (;;) {
    if (waitpid(pid, &status, 0) == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (errno != EINTR) return errno == ECHILD;
  }
}

}  // namespace

std::optional<std::string> ask_getent(const Sources& sources, const std::string& database,
                                      const std::string& key) {
  // A key with a dash in front would be an option of it, and one with a line's end two answers.
  if (key.empty() || key[0] == '-' || key.find('\n') != std::string::npos) return std::nullopt;
  const auto program =
      std::find_if(sources.getent.begin(), sources.getent.end(),
                   [](const auto& place) { return access(place.c_str(), X_OK) == 0; });
  if (program == sources.getent.end()) return std::nullopt;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const End input(ends[0]);
  End output(ends[1]);
  const pid_t pid = start({*program, database, key}, output.fd());
  output.close_now();
  if (pid < 0) return std::nullopt;
  std::string text;
  const auto deadline = Clock::now() + std::chrono::milliseconds(sources.patience);
  const bool is_whole = read_answer(input.fd(), deadline, text);
  if (!is_whole) kill(pid, SIGKILL);
  if (!has_succeeded(pid) || !is_whole || text.empty()) return std::nullopt;
  return text;
}

bool has_services(const Sources& sources, const std::string& database) {
  const auto text = read_regular_file(sources.etc + "/nsswitch.conf", kMostOfSwitch);
  if (!text) return false;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream name(line.substr(0, colon)), services(line.substr(colon + 1));
    std::string word;
    if (!(name >> word) || word != database) continue;
    while (services >> word)
      if (word != "files" && word[0] != '[') return true;
    return false;
  }
  return false;
}

}  // namespace holon::standalone
