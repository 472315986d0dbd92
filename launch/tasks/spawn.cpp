// spawn.cpp - between fork and exec a task needs more than posix_spawn(3) offers: its CPUs, its
// limit of descriptors, a signal at the end of its parent. So the steps are here, as posix_spawn(3)
// does them: the child borrows our memory while we wait (vfork(2)), allocates none, and reports how
// far it got.
#include "launch/tasks/spawn.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>
#include <utility>

#include "launch/tasks/vfork_into.hpp"

namespace holon::launch {

enum class Step { start, bind, enter, limit, run };

struct Spawner::SpawnProgress {
  volatile Step step = Step::start;
  volatile int error = 0;
  volatile int limit = 0;  // the one that could not be set
};

void Spawner::Unmap::operator()(SpawnProgress* memory) const {
  munmap(memory, sizeof(SpawnProgress));
}

namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::string_view value_of(const std::vector<std::string>& env, std::string_view key) {
  for (const std::string& entry : env)
    if (entry.size() > key.size() && entry[key.size()] == '=' && entry.starts_with(key))
      return std::string_view(entry).substr(key.size() + 1);
  return {};
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// How long, in ms, a command that was found counts as still there, and the set of ignored signals
// as unchanged: later starts see what is installed or removed, and what a library begins to ignore.
constexpr std::int64_t kFoundFor = 50;

std::int64_t coarse_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

// posix_spawnp(3) would search the PATH of this process, not the job's.
tl::expected<std::string, SpawnError> find_program(const SpawnRequest& request) {
  const std::string& name = request.argv[0];
  if (name.empty()) return tl::unexpected(SpawnError{127, "the command is an empty string"});
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = value_of(request.env, "PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  bool forbidden = false;
  for (bool more = true; more;) {
    const auto colon = path.find(':');
    std::string file(path.substr(0, colon));
    more = colon != std::string_view::npos;
    if (more) path.remove_prefix(colon + 1);
    file += file.empty() ? name : "/" + name;
    if (file[0] != '/' && !request.cwd.empty()) file.insert(0, request.cwd + "/");
    if (access(file.c_str(), X_OK) == 0 && !is_directory(file)) return file;
    forbidden |= errno == EACCES;
  }
  if (forbidden)
    return tl::unexpected(SpawnError{126, "command " + quoted(name) + ": Permission denied", true});
  const char* hint = name.find(' ') == std::string::npos
                         ? ""
                         : "; it holds a blank: drop the quotes, or use sh -c";
  return tl::unexpected(SpawnError{127, "command " + quoted(name) + " not found in PATH" + hint});
}

// Did the job's user ask for this step? CPUs and processes are for the agent to give.
bool is_asked_for(Step step) {
  return step == Step::enter || step == Step::limit || step == Step::run;
}

// execve(2) has the same error for the program and for the interpreter in its first line.
SpawnError explain(Step step, int error, const std::string& program) {
  const bool exists = access(program.c_str(), F_OK) == 0;
  std::string what = "cannot start " + quoted(program) + ": " + std::strerror(error);
  if (error == ENOENT && exists) what += " (the interpreter in its first line)";
  return {error == ENOENT && !exists ? 127 : 126, std::move(what),
          is_asked_for(step) && is_denial(error)};
}

// All that the child needs, made before the child exists.
struct Plan {
  const char* program;
  char* const* argv;
  char* const* shell_argv;  // for a script without a first line
  char* const* env;
  const char* cwd;  // nullptr: ours
  const CpuMask* cpus;
  int in, out, err;
  int secrets, wire_up;       // -1: none
  std::uint64_t descriptors;  // soft limit; 0: ours
  const ProcessLimit* limits;
  std::size_t limit_count;
  int file_mask;  // negative: ours
  pid_t parent;
  sigset_t ignored;  // signals that the caller ignores
  bool has_default_handlers = false;
};

[[noreturn]] void give_up(Spawner::SpawnProgress& progress, Step step, int error) {
  progress.error = error;
  progress.step = step;
  _exit(127);
}

// The kernel may have removed handlers already (CLONE_CLEAR_SIGHAND); it leaves signals ignored.
void default_signals(const Plan& plan) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    if (!plan.has_default_handlers || sigismember(&plan.ignored, signal) == 1)
      sigaction(signal, &action, nullptr);
}

// Adds signals below `end` that this process ignores now.
void add_ignored(sigset_t& ignored, int end) {
  struct sigaction action {};
  for (int signal = 1; signal < end; ++signal)
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      sigaddset(&ignored, signal);
}

void limit_descriptors(std::uint64_t soft) {
  rlimit limit{};
  if (soft == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = soft;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// If `from` is `to`, dup2(2) does not clear close-on-exec.
bool put(int from, int to) {
  return dup2(from, to) >= 0 && fcntl(to, F_SETFD, 0) == 0;
}

// Leaves open only what the task gets beyond its three streams. Returns 0 or an errno.
int hand_over(const Plan& plan) {
  // First moves it out of the other one's place.
  const int wire_up =
      plan.wire_up == kSecretsDescriptor ? fcntl(plan.wire_up, F_DUPFD, 5) : plan.wire_up;
  if (plan.secrets >= 0 && !put(plan.secrets, kSecretsDescriptor)) return errno;
  if (plan.wire_up >= 0 && !put(wire_up, kWireUpDescriptor)) return errno;
  if (plan.secrets < 0) close(kSecretsDescriptor);
  if (plan.wire_up < 0) close(kWireUpDescriptor);
  close_range(kWireUpDescriptor + 1, ~0U, 0);
  return 0;
}

// Runs in the child: memory is the parent's.
[[noreturn, gnu::noinline]] void become(const Plan& plan, Spawner::SpawnProgress& progress) {
  default_signals(plan);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the parent ended before that
  if (plan.cpus != nullptr)
    if (const int error = plan.cpus->apply_quietly()) give_up(progress, Step::bind, error);
  limit_descriptors(plan.descriptors);
  if (dup2(plan.in, 0) < 0 || dup2(plan.out, 1) < 0 || dup2(plan.err, 2) < 0)
    give_up(progress, Step::start, errno);
  if (const int error = hand_over(plan)) give_up(progress, Step::start, error);
  if (plan.cwd != nullptr && chdir(plan.cwd) != 0) give_up(progress, Step::enter, errno);
  if (plan.file_mask >= 0) umask(static_cast<mode_t>(plan.file_mask));
  for (std::size_t i = 0; i < plan.limit_count; ++i) {
    const int error = apply_process_limit(plan.limits[i]);
    if (error == 0) continue;
    progress.limit = plan.limits[i].resource;
    give_up(progress, Step::limit, error);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  progress.step = Step::run;
  execve(plan.program, plan.argv, plan.env);
  if (errno == ENOEXEC) execve("/bin/sh", plan.shell_argv, plan.env);
  give_up(progress, Step::run, errno);
}

// Both return the child, or -errno.
[[gnu::noinline]] pid_t clone_child(clone_args& how, const Plan& plan,
                                    Spawner::SpawnProgress& progress) {
  const long pid = holon_vfork_clone3(&how, sizeof how);
  if (pid == 0) become(plan, progress);
  return static_cast<pid_t>(pid);
}
[[gnu::noinline]] pid_t vfork_child(const Plan& plan, Spawner::SpawnProgress& progress) {
  const pid_t pid = vfork();
  if (pid == 0) become(plan, progress);
  return pid < 0 ? -errno : pid;
}

pid_t start(Plan& plan, int cgroup, Spawner::SpawnProgress& progress) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // none of our handlers may run in the child
  clone_args how{};
  how.flags = CLONE_VM | CLONE_VFORK | CLONE_CLEAR_SIGHAND;
  how.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    how.flags |= CLONE_INTO_CGROUP;
    how.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  plan.has_default_handlers = true;
  pid_t pid = clone_child(how, plan, progress);
  if (pid == -EINVAL) {  // before Linux 5.5
    how.flags &= ~CLONE_CLEAR_SIGHAND;
    plan.has_default_handlers = false;
    pid = clone_child(how, plan, progress);
  }
  plan.has_default_handlers = false;
  if (pid == -ENOSYS && cgroup < 0) pid = vfork_child(plan, progress);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

}  // namespace

Result<Spawner> Spawner::create() {
  Spawner spawner;
  spawner.null_.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  spawner.task_descriptors_ = transport::raise_descriptor_limit();
  if (!spawner.null_) return fail(Errc::system, std::strerror(errno), "/dev/null");
  void* shared = mmap(nullptr, sizeof(SpawnProgress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return fail(Errc::system, std::strerror(errno), "mmap");
  spawner.progress_.reset(new (shared) SpawnProgress);
  return spawner;
}

// After the first look, real-time signals are skipped: nobody begins to ignore one later.
void Spawner::look_at_signals(std::int64_t now) {
  constexpr int kFirstOfRealTime = 32;
  if (looked_at_signals_ && now - *looked_at_signals_ <= kFoundFor) return;
  add_ignored(ignored_, looked_at_signals_ ? kFirstOfRealTime : NSIG);
  looked_at_signals_ = now;
}

// Keeps the last command: most callers start the same one many times.
tl::expected<std::string, SpawnError> Spawner::where_is(const SpawnRequest& request,
                                                        std::int64_t now) {
  const std::string_view path = value_of(request.env, "PATH");
  if (found_.name == request.argv[0] && found_.path == path && found_.cwd == request.cwd &&
      now - found_.when <= kFoundFor)
    return found_.program;
  auto program = find_program(request);
  if (program) found_ = {request.argv[0], std::string(path), request.cwd, *program, now};
  return program;
}

tl::expected<pid_t, SpawnError> Spawner::spawn(const SpawnRequest& request) {
  const std::int64_t now = coarse_ms();
  look_at_signals(now);
  const auto program = where_is(request, now);
  if (!program) return tl::unexpected(program.error());
  const std::vector<char*> argv = pointers(request.argv);
  const std::vector<char*> env = pointers(request.env);
  std::vector<char*> shell_argv = argv;
  shell_argv[0] = const_cast<char*>(program->c_str());
  shell_argv.insert(shell_argv.begin(), const_cast<char*>("/bin/sh"));
  const int null = null_.get();
  Plan plan{program->c_str(),
            argv.data(),
            shell_argv.data(),
            env.data(),
            request.cwd.empty() ? nullptr : request.cwd.c_str(),
            request.cpus,
            request.in < 0 ? null : request.in,
            request.out < 0 ? null : request.out,
            request.err < 0 ? null : request.err,
            request.secrets,
            request.wire_up,
            task_descriptors_,
            request.limits.data(),
            request.limits.size(),
            request.file_mask,
            getpid(),
            ignored_};
  progress_->step = Step::start;
  progress_->error = 0;
  const pid_t pid = start(plan, request.cgroup, *progress_);
  if (pid < 0 && request.cgroup >= 0) return tl::unexpected(SpawnError{126, "", false, -pid});
  if (pid < 0) return tl::unexpected(explain(Step::start, -pid, *program));
  const int error = progress_->error;
  if (error == 0) return pid;
  found_ = {};  // the program may have moved
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  if (progress_->step == Step::enter)
    return tl::unexpected(SpawnError{
        126,
        "cannot enter the working directory " + quoted(request.cwd) + ": " + std::strerror(error),
        is_denial(error)});
  if (progress_->step == Step::bind)
    return tl::unexpected(
        SpawnError{126, std::string("cannot bind to CPUs: ") + std::strerror(error)});
  if (progress_->step == Step::limit)
    return tl::unexpected(SpawnError{126,
                                     "cannot set its limit " +
                                         std::string(name_of_limit(progress_->limit)) + ": " +
                                         std::strerror(error),
                                     is_denial(error)});
  return tl::unexpected(explain(progress_->step, error, *program));
}

std::int64_t memory_used_kb(const rusage& usage, std::int64_t ours_kb) {
  const std::int64_t pages = std::int64_t{usage.ru_minflt} + usage.ru_majflt;
  if (usage.ru_maxrss > ours_kb || pages == 0) return usage.ru_maxrss;
  static const std::int64_t kPageKb = std::max<std::int64_t>(1, sysconf(_SC_PAGESIZE) / 1024);
  return std::min<std::int64_t>(usage.ru_maxrss, pages * kPageKb);
}

std::int64_t own_peak_kb() {
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  return own.ru_maxrss;
}

}  // namespace holon::launch
