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
#include <cstring>
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

// Reads to the end of the stream.
Result<std::string> read_answer(int fd, Duration patience) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(patience);
  std::string text;
  std::array<char, 4096> bytes;
  while (text.size() < kMostOfAnswer) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return fail(Errc::timed_out, "no answer in " + std::to_string(patience) + " ms");
    pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(left)) <= 0) continue;
    const auto n = read(fd, bytes.data(), bytes.size());
    if (n == 0) return text;
    if (n > 0) text.append(bytes.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return system_error("read");
  }
  return fail(Errc::out_of_range,
              "an answer of more than " + std::to_string(kMostOfAnswer) + " bytes");
}

// Starts it with no signal blocked or ignored, and with nothing of this process's environment.
Result<pid_t> start(std::vector<std::string> words, int output) {
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
  const int error =
      posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(Errc::system, std::strerror(error));
  return pid;
}

// True: it has found the key; false: it says that it has not, or that it does not know the
// database, by an exit code of getent(1). Who has told the kernel to reap by itself gets no exit
// code: then the text is all there is.
Result<bool> has_found(pid_t pid) {
  constexpr int kLastOwnCode = 3;
  int status = 0;
  while (waitpid(pid, &status, 0) != pid)
    if (errno != EINTR) return errno == ECHILD ? Result<bool>(true) : system_error("waitpid");
  if (WIFEXITED(status) && WEXITSTATUS(status) <= kLastOwnCode) return WEXITSTATUS(status) == 0;
  return fail(Errc::system, WIFEXITED(status)
                                ? "exit code " + std::to_string(WEXITSTATUS(status))
                                : "ended by signal " + std::to_string(WTERMSIG(status)));
}

GetentAnswer ask_program(const std::string& program, const Sources& sources,
                         const std::string& database, const std::string& key) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe");
  const End input(ends[0]);
  End output(ends[1]);
  const auto pid = start({program, database, key}, output.fd());
  output.close_now();
  if (!pid) return tl::unexpected(pid.error());
  auto text = read_answer(input.fd(), sources.patience);
  if (!text) kill(*pid, SIGKILL);
  const auto found = has_found(*pid);
  if (!text) return tl::unexpected(text.error());
  if (!found) return tl::unexpected(found.error());
  if (!*found || text->empty()) return std::nullopt;
  return std::optional(std::move(*text));
}

}  // namespace

GetentAnswer ask_getent(const Sources& sources, const std::string& database,
                        const std::string& key) {
  // A key with a dash in front would be an option of it, and one with a line's end two answers.
  if (key.empty() || key[0] == '-' || key.find('\n') != std::string::npos) return std::nullopt;
  const auto program =
      std::find_if(sources.getent.begin(), sources.getent.end(),
                   [](const auto& place) { return access(place.c_str(), X_OK) == 0; });
  if (program == sources.getent.end()) return std::nullopt;
  auto answer = ask_program(*program, sources, database, key);
  if (!answer) answer.error().where = *program + " " + database + " " + key;
  return answer;
}

Result<std::string> text_of_file(const Sources& sources, const std::string& name,
                                 std::size_t most) {
  auto text = read_regular_file(sources.etc + "/" + name, most);
  if (!text && text.error().code == Errc::not_found) return std::string();
  return text;
}

Result<bool> has_services(const Sources& sources, const std::string& database) {
  const auto text = text_of_file(sources, "nsswitch.conf", kMostOfSwitch);
  if (!text) return tl::unexpected(text.error());
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
