// Whoever asks names a lineage, no process and no user. What is signalled are processes of users
// for whom the starter starts things, which they themselves have marked as the instance's; they are
// read with the user's rights. No user can signal the process that looks, since only its ids for
// files become the user's; one whose memory cannot be read keeps it for kLongestLook at most.
#include "starter/sweep.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/lineage.hpp"
#include "starter/answer.hpp"
#include "starter/own_children.hpp"

extern "C" {            // glibc 2.36 forgot to say so in this header
#include <sys/pidfd.h>  // NOLINT: after the others because of that
}

namespace holon::starter {
namespace {

constexpr std::size_t kMostOfAnEnvironment = std::size_t{8} << 20;
constexpr unsigned kLongestLook = 10;  // s, at the processes of one user
constexpr int kMostToldOf = 100;       // of these; it becomes the status of a process

struct Process {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::vector<Process> all_processes() {
  std::vector<Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc"), &closedir);
  while (const dirent* entry = all ? readdir(all.get()) : nullptr) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    struct stat info {};
    if (pid > 1 && fstatat(dirfd(all.get()), entry->d_name, &info, 0) == 0)
      found.push_back({pid, info.st_uid, info.st_gid});
  }
  return found;
}

std::string file_of(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// The lineage; "": none, or no environment (yet). nullopt: it cannot be read.
std::optional<std::string> lineage_of(pid_t pid) {
  const auto block = read_all(file_of(pid, "environ"), kMostOfAnEnvironment);
  if (!block) return std::nullopt;
  const std::string wanted = std::string(kLineage) + "=";
  for (std::string_view left = *block; !left.empty();) {
    const std::string_view entry = left.substr(0, left.find('\0'));
    if (entry.starts_with(wanted)) return std::string(entry.substr(wanted.size()));
    left.remove_prefix(std::min(left.size(), entry.size() + 1));
  }
  return "";
}

bool writes_output_in(pid_t pid, const std::string& state_dir) {
  if (state_dir.empty()) return false;
  for (const char* const descriptor : {"fd/1", "fd/2"}) {
    std::array<char, 4096> target;
    const ssize_t n = readlink(file_of(pid, descriptor).c_str(), target.data(), target.size());
    const std::string_view file(target.data(), n < 0 ? 0 : static_cast<std::size_t>(n));
    if (file.starts_with(state_dir + "/") &&
        file.find("/output/", state_dir.size()) != std::string_view::npos)
      return true;
  }
  return false;
}

// Is a starter above it that still starts tasks, as another agent's on this machine?
bool is_below_a_starter(pid_t pid) {
  for (pid_t at = parent_of(pid); at > 1; at = parent_of(at)) {
    struct stat info {};
    if (stat(file_of(at, "").c_str(), &info) != 0) return false;
    if (info.st_uid == 0 && read_all(file_of(at, "comm"), 64) == std::string(kNameOfStarter) + "\n")
      return true;
  }
  return false;
}

bool is_left_over(pid_t pid, const Request& what) {
  const auto lineage = lineage_of(pid);
  if (lineage && lineage->empty() ? !writes_output_in(pid, what.path)
                                  : !lineage || !is_within(*lineage, what.lineage))
    return false;
  return (what.flags & kSpareStarted) == 0 || !is_below_a_starter(pid);
}

// Opens files from now on with no more rights than this process's user has.
bool read_as(const Process& process) {
  setfsgid(process.gid);
  setfsuid(process.uid);
  constexpr auto kNobody = static_cast<uid_t>(-1);  // changes nothing, and says who it is
  return static_cast<uid_t>(setfsuid(kNobody)) == process.uid;
}

// Takes the handle before the look: a number that is given away meanwhile does no harm.
int end_those_of(uid_t uid, const Request& what) {
  int found = 0;
  for (const Process& process : all_processes()) {
    if (process.uid != uid || !read_as(process)) continue;
    const int handle = pidfd_open(process.pid, 0);
    if (handle < 0) continue;
    if (is_left_over(process.pid, what) && pidfd_send_signal(handle, SIGKILL, nullptr, 0) == 0)
      ++found;
    close(handle);
  }
  return std::min(found, kMostToldOf);
}

// Sweeps in a process of its own. nullopt: it could not look at all processes.
std::optional<int> sweep_user(uid_t uid, const Request& what) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    alarm(kLongestLook);
    _exit(end_those_of(uid, what));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::nullopt;
  return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

}  // namespace

void serve_sweep(const Handed& handed, const Settings& settings) {
  prctl(PR_SET_NAME, "holon-sweeper");
  const auto request = read_request(handed.body);
  if (!request) refuse(handed.line, Step::request, EINVAL, request.error().what);
  if (const auto good = check_sweep(*request); !good)
    refuse(handed.line, Step::request, EINVAL, good.error().what);
  std::set<uid_t> users;
  for (const Process& process : all_processes()) users.insert(process.uid);
  Told told;
  told.what = What::ended;
  for (const uid_t uid : users) {
    if (!may_be_user(uid, "", settings)) continue;
    const auto found = sweep_user(uid, *request);
    told.status += found.value_or(0);
    if (!found) ("user " + std::to_string(uid)).copy(told.text, sizeof told.text - 1);
  }
  tell(handed.line, told);
  _exit(0);
}

}  // namespace holon::starter
