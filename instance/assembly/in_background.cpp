#include "instance/assembly/in_background.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "instance/assembly/endpoint.hpp"
#include "instance/assembly/supervisor.hpp"
#include "instance/basics/ending_signals.hpp"
#include "instance/process/spawn.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

// The caller's pipes and locks would stay open for as long as the instance lives.
void leave_descriptors(std::vector<int> except) {
  std::sort(except.begin(), except.end());
  unsigned first = 3;
  for (const int fd : except) {
    if (fd < 3) continue;
    const auto kept = static_cast<unsigned>(fd);
    if (kept > first) close_range(first, kept - 1, 0);
    first = kept + 1;
  }
  close_range(first, ~0U, 0);
}

// Stands before the reason why an instance could not begin, in place of a uri.
constexpr char kRefused = '!';

int supervise_detached(const BrokerOptions& options, const config::Config& config,
                       const Nodes& nodes, const std::string& cpuset, const std::string& log,
                       Pipe up) {
  setsid();
  up.read = {};
  leave_descriptors({up.write.get(), options.starter, options.starter_of_agent,
                     nodes.endpoint ? nodes.endpoint->socket.fd.get() : -1});
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  redirect(STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  const auto tell = [&up](const std::string& text) {
    const bool told = write(up.write.get(), text.data(), text.size()) >= 0;
    up.write = {};
    return told;
  };
  const auto ready = [&tell](const std::string& uri) {
    if (tell(uri)) return;
    say("whoever started it has gone, and was not told of it; the instance ends");
    kill(getpid(), SIGTERM);
  };
  // The log belongs to the instance that has the state directory.
  const auto refused = [&tell](const Error& why) { tell(kRefused + to_string(why)); };
  return supervise(options, config, nodes, cpuset, ready, refused);
}

// Readable when one of kEndingSignals comes. Signals that this process ignores, as under nohup, are
// left out: a descriptor would receive a blocked one all the same.
transport::UniqueFd ending_signals_to_read() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : heeded_ending_signals()) sigaddset(&set, signal);
  return transport::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Waits until `fd` can be read, or a signal comes; returns the signal, or 0: none has come.
int signal_before(int fd, const transport::UniqueFd& signals) {
  std::array<pollfd, 2> either = {pollfd{fd, POLLIN, 0}, pollfd{signals.get(), POLLIN, 0}};
  while (poll(either.data(), either.size(), -1) < 0 && errno == EINTR) continue;
  signalfd_siginfo came{};
  return read(signals.get(), &came, sizeof came) == sizeof came ? static_cast<int>(came.ssi_signo)
                                                                : 0;
}

// Ends the instance of the supervisor `pid` in order, and then this process by `signal`. Each
// further signal hurries the instance.
int end_by(int signal, pid_t pid, const transport::UniqueFd& signals) {
  const transport::UniqueFd gone(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  do kill(pid, SIGTERM);
  while (gone && signal_before(gone.get(), signals) != 0);
  waitpid(pid, nullptr, 0);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return 128 + signal;
}

int code_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : kExitFailed;
}

// Repeats the messages of an instance that did not come up. `before`: the size of its log before,
// so that messages of earlier starts are left out.
void repeat_messages(const std::string& log, std::uintmax_t before) {
  std::ifstream messages(log);
  messages.seekg(static_cast<std::streamoff>(before));
  for (std::string line; std::getline(messages, line);) std::fputs((line + "\n").c_str(), stderr);
}

}  // namespace

int supervise_in_background(const BrokerOptions& options, const config::Config& config,
                            const Nodes& nodes, const std::string& cpuset,
                            const std::function<int(const std::string&)>& when_up) {
  auto up = make_pipe();
  if (!up) {
    say(to_string(up.error()));
    return kExitFailed;
  }
  const std::string log = options.start.state_dir + "/instance.log";
  std::error_code none_yet;
  const auto before = std::filesystem::file_size(log, none_yet);
  const pid_t pid = fork();
  if (pid < 0) {
    say(std::strerror(errno));
    return kExitFailed;
  }
  if (pid == 0) _exit(supervise_detached(options, config, nodes, cpuset, log, std::move(*up)));
  up->write = {};
  const auto signals = ending_signals_to_read();
  if (const int signal = signal_before(up->read.get(), signals); signal != 0)
    return end_by(signal, pid, signals);
  std::array<char, PIPE_BUF> bytes{};
  const auto n = read(up->read.get(), bytes.data(), bytes.size());
  const std::string text(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  if (!text.empty() && text.front() != kRefused) return when_up(text);
  if (text.empty())
    repeat_messages(log, none_yet ? 0 : before);
  else
    say(text.substr(1));
  return code_of(pid);
}

}  // namespace holon::instance
