#include "instance/process/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "instance/basics/ending_signals.hpp"
#include "transport/reactor.hpp"

extern "C" char** environ;

namespace holon::instance {

Result<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return fail(Errc::system, std::strerror(errno), "pipe");
  return Pipe{transport::UniqueFd(fds[0]), transport::UniqueFd(fds[1])};
}

namespace {

std::vector<std::string> environment_of(const Program& program) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "="));
    const auto& unset = program.unset;
    if (std::find(unset.begin(), unset.end(), name) == unset.end() && !program.set.contains(name))
      variables.emplace_back(*variable);
  }
  for (const auto& [name, value] : program.set) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Is it a file without the mode for running, as a script that was written just now?
bool lacks_mode(const std::string& file) {
  struct stat info {};
  return stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(file.c_str(), X_OK) != 0;
}

// The system has the same words for a program and for the interpreter in its first line.
Error cannot_start(int problem, const std::string& file) {
  Error error{problem == ENOENT ? Errc::not_found : Errc::system, std::strerror(problem), file};
  const bool is_there = file.find('/') != std::string::npos && access(file.c_str(), F_OK) == 0;
  if (problem == ENOENT && is_there) {
    error.code = Errc::system;
    error.what += " (the interpreter in its first line)";
  }
  if (lacks_mode(file)) error.what += "; `chmod +x` helps";
  return error;
}

}  // namespace

Result<pid_t> spawn(const Program& program) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  for (const int fd : program.keep)
    posix_spawn_file_actions_adddup2(&files, fd, fd);  // clears close-on-exec
  if (program.input >= 0) posix_spawn_file_actions_adddup2(&files, program.input, STDIN_FILENO);
  if (program.output >= 0) posix_spawn_file_actions_adddup2(&files, program.output, STDOUT_FILENO);
  std::vector<std::string> variables = environment_of(program);
  const std::vector<char*> environment = pointers_to(variables);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  for (const int signal : kEndingSignals)
    if (program.keeps_ignored && transport::is_ignored(signal)) sigdelset(&all, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int group = program.own_group ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  std::vector<char*> argv;
  const std::string& file = program.argv.front();
  for (const auto& word : program.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int problem = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), environment.data());
  if (problem == ENOEXEC && file.find('/') != std::string::npos) {
    // A script without a first line is run by the shell, as execvp(3) does.
    argv.insert(argv.begin(), const_cast<char*>("/bin/sh"));
    problem = posix_spawn(&pid, "/bin/sh", &files, &attributes, argv.data(), environment.data());
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) return tl::unexpected(cannot_start(problem, file));
  return pid;
}

void block_signals(std::span<const int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void redirect(int fd, const char* file, int flags) {
  const transport::UniqueFd opened(open(file, flags | O_CLOEXEC, 0600));
  if (opened) dup2(opened.get(), fd);
}

}  // namespace holon::instance
