#include "starter/become.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "starter/fewer_rights.hpp"

namespace holon::starter {
namespace {

constexpr int kReport = 5;  // beyond what the program finds open
constexpr int kAside = 16;  // above all that is put in place

// Are all ids the account's, not only the saved ones? A process with one other id could come back.
bool is_wholly(const Account& account) {
  uid_t uid[3];
  gid_t gid[3];
  if (getresuid(&uid[0], &uid[1], &uid[2]) != 0 || getresgid(&gid[0], &gid[1], &gid[2]) != 0)
    return false;
  return std::all_of(uid, uid + 3, [&](uid_t id) { return id == account.uid; }) &&
         std::all_of(gid, gid + 3, [&](gid_t id) { return id == account.gid; });
}

bool has_these_groups(std::vector<gid_t> wanted) {
  const int count = getgroups(0, nullptr);
  if (count < 0) return false;
  std::vector<gid_t> had(static_cast<std::size_t>(count));
  if (getgroups(count, had.data()) != count) return false;
  std::sort(had.begin(), had.end());
  std::sort(wanted.begin(), wanted.end());
  return had == wanted;
}

bool can_come_back() {
  return setuid(0) == 0 || seteuid(0) == 0 || setresuid(0, 0, 0) == 0;
}

// A process with a session keyring possesses the keys in it, whatever its user: root's, of the
// login that has started the instance, are nothing for tasks. The new one is made as root, whose
// quota has room for one a task. Returns 0 or an errno.
int leave_keyring() {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0) return 0;
  const bool has_none = errno == ENOSYS || errno == EPERM || errno == EACCES;
  return has_none ? 0 : errno;
}

void default_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void limit_descriptors(std::uint64_t soft) {
  rlimit limit{};
  if (soft == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(soft, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Sets limits with the user's rights only: a hard limit can be lowered only. Returns the limit that
// could not be set.
std::optional<Stuck> set_limits(const std::vector<Limit>& limits) {
  for (const Limit& limit : limits) {
    const auto which = static_cast<__rlimit_resource>(limit.resource);
    rlimit now{};
    if (getrlimit(which, &now) != 0) return Stuck{Step::limit, errno, limit.resource};
    now.rlim_cur = limit.value;
    if (now.rlim_max < now.rlim_cur) now.rlim_max = now.rlim_cur;
    if (setrlimit(which, &now) != 0) return Stuck{Step::limit, errno, limit.resource};
  }
  return std::nullopt;
}

int bind_to(const std::vector<std::uint64_t>& cpus) {
  if (cpus.empty()) return 0;
  const auto* mask = reinterpret_cast<const cpu_set_t*>(cpus.data());
  return sched_setaffinity(0, cpus.size() * sizeof cpus[0], mask) == 0 ? 0 : errno;
}

// Moves all descriptors out of the way first, then into place. Returns 0 or an errno.
int put_in_place(const Streams& streams, int report) {
  const int wanted[] = {streams.in, streams.out, streams.err, streams.secrets, streams.wire_up};
  int aside[5];
  for (int to = 0; to < 5; ++to) {
    aside[to] = wanted[to] < 0 ? -1 : fcntl(wanted[to], F_DUPFD, kAside);
    if (wanted[to] >= 0 && aside[to] < 0) return errno;
  }
  const int told = fcntl(report, F_DUPFD, kAside);
  if (told < 0) return errno;
  for (int to = 0; to < 5; ++to) {
    if (aside[to] < 0)
      close(to);
    else if (dup2(aside[to], to) < 0)
      return errno;
  }
  if (dup2(told, kReport) < 0 || fcntl(kReport, F_SETFD, FD_CLOEXEC) != 0) return errno;
  return close_range(kReport + 1, ~0U, 0) == 0 ? 0 : errno;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool sets(const std::vector<std::string>& env, std::string_view name) {
  return std::any_of(env.begin(), env.end(), [name](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
}

// The environment, with who the user is if it does not say so.
std::vector<std::string> environment_for(const Account& account, std::vector<std::string> env) {
  for (const auto& [name, value] : {std::pair<std::string, std::string>("HOME", account.home),
                                    {"USER", account.name},
                                    {"LOGNAME", account.name},
                                    {"SHELL", account.shell},
                                    {"PATH", "/usr/local/bin:/usr/bin:/bin"}})
    if (!sets(env, name)) env.push_back(name + "=" + value);
  return env;
}

std::string_view path_in(const std::vector<std::string>& env) {
  for (const auto& entry : env)
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  return {};
}

// Executes; a script without a first line is the shell's (execvp(3)). Returns where it failed.
int execute(const std::string& file, char* const* argv, char* const* env) {
  execve(file.c_str(), argv, env);
  if (errno != ENOEXEC) return errno;
  std::vector<char*> shell = {const_cast<char*>("/bin/sh"), const_cast<char*>(file.c_str())};
  for (char* const* word = argv + 1; *word != nullptr; ++word) shell.push_back(*word);
  shell.push_back(nullptr);
  execve("/bin/sh", shell.data(), env);
  return errno;
}

// Becomes the program, as the user, whose PATH it is.
Stuck become_program(const Request& request, const std::vector<std::string>& environment) {
  const auto argv = pointers_to(request.argv);
  const auto env = pointers_to(environment);
  const std::string& name = request.argv.front();
  if (name.find('/') != std::string::npos)
    return {Step::run, execute(name, argv.data(), env.data())};
  Stuck stuck{Step::find, ENOENT};
  std::string_view path = path_in(environment);
  for (bool more = true; more;) {
    const auto colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    more = colon != std::string_view::npos;
    if (more) path.remove_prefix(colon + 1);
    const std::string file = folder.empty() ? "./" + name : folder + "/" + name;
    struct stat info {};
    if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const int error = execute(file, argv.data(), env.data());
    if (error == ENOENT || error == ENOTDIR) continue;
    stuck = {error == EACCES ? Step::find : Step::run, error};
    if (error != EACCES) return stuck;
  }
  return stuck;
}

}  // namespace

int become_user(const Account& account, const Settings& settings, std::uint32_t file_mask) {
  if (account.uid == 0) return EPERM;
  if (const int error = leave_keyring()) return error;
  if (setgroups(account.groups.size(), account.groups.data()) != 0) return errno;
  if (setresgid(account.gid, account.gid, account.gid) != 0) return errno;
  if (setresuid(account.uid, account.uid, account.uid) != 0) return errno;
  if (!is_wholly(account) || !has_these_groups(account.groups) || has_capabilities() ||
      can_come_back())
    return EPERM;
  if (settings.no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  umask(file_mask == kUsualMask ? settings.mask : static_cast<mode_t>(file_mask));
  return 0;
}

Stuck run_as(const Account& account, const Settings& settings, const Request& request,
             const Streams& streams, int report, pid_t keeper) {
  const std::vector<std::string> environment = environment_for(account, request.env);
  default_signals();
  setsid();
  if (const int error = put_in_place(streams, report)) return {Step::start, error};
  if (const int error = bind_to(request.cpus)) return {Step::bind, error};
  limit_descriptors(request.descriptors);
  if (const int error = become_user(account, settings, request.file_mask))
    return {Step::become, error};
  // The change of user id has removed the signal at the keeper's end.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return {Step::start, errno};
  if (getppid() != keeper) return {Step::start, ESRCH};
  const std::string& folder = request.cwd.empty() ? account.home : request.cwd;
  if (chdir(folder.c_str()) != 0) return {Step::enter, errno};
  if (const auto stuck = set_limits(request.limits)) return *stuck;
  return become_program(request, environment);
}

}  // namespace holon::starter
