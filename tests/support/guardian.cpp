#include "tests/support/guardian.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

extern char** environ;

namespace holon::tests {
namespace {

// The guardian is nobody's child, so that whoever kills the test with all its children leaves it,
// and has a session of its own. The end of its input, descriptor 3, is the end of the test's
// process.
constexpr const char* kScript = R"sh(
setsid sh -c '
  trap "" HUP INT TERM
  all=
  while read -r entry folder; do
    all="$all$entry $folder
"
  done
  marked() { grep -lsxzF -- "$1" /proc/[0-9]*/environ | cut -d/ -f3; }
  is_instance() { tr "\0" " " <"/proc/$1/cmdline" | grep -q " start "; }
  printf %s "$all" | while read -r entry folder; do
    [ -d "$folder" ] || continue
    for pid in $(marked "$entry"); do is_instance "$pid" && kill -TERM "$pid"; done
    for i in $(seq 100); do
      [ -z "$(marked "$entry")" ] && break
      sleep 0.1
    done
    kill -KILL $(marked "$entry")
    rm -rf "$folder"
  done
' <&3 3<&- >/dev/null 2>&1 &
)sh";

// The end at which it is told what to end; -1: there is none, and what is killed stays.
int start_guardian() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return -1;
  const auto [ours, its] = ends;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, its, 3);
  std::string shell = "sh", option = "-c", script = kScript;
  char* const words[] = {shell.data(), option.data(), script.data(), nullptr};
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/bin/sh", &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(its);
  if (failed == 0) waitpid(pid, nullptr, 0);
  return ours;
}

}  // namespace

void end_with_this_process(const std::string& entry, const std::string& folder) {
  static int guardian = -1;
  static pid_t whose = 0;  // a process that was forked has another end than this one
  if (whose != getpid()) {
    if (guardian >= 0) close(guardian);
    guardian = start_guardian();
    whose = getpid();
  }
  const std::string line = entry + " " + folder + "\n";
  if (guardian >= 0) static_cast<void>(send(guardian, line.data(), line.size(), MSG_NOSIGNAL));
}

}  // namespace holon::tests
