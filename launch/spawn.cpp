// spawn.cpp - binding without a step between fork and exec: posix_spawn has no attribute for it,
// but a child inherits the affinity of the thread that makes it. So the caller takes on the child's
// CPUs, spawns, and takes its own back.
#include "launch/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

namespace holon::launch {
namespace {

class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t set;
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes_, &set);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes_, &set);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

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

// posix_spawnp(3) would look along the PATH of this process; the job's is meant.
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
    return tl::unexpected(SpawnError{126, "command " + quoted(name) + ": Permission denied"});
  return tl::unexpected(SpawnError{127, "command " + quoted(name) + " not found in PATH"});
}

// There is no spawn attribute for it, and once it runs a program may have asked already: so while
// this lives the limit is that of the child, which inherits it. `soft` 0: as it is.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::uint64_t soft) {
    is_changed_ = soft != 0 && getrlimit(RLIMIT_NOFILE, &own_) == 0 && own_.rlim_cur != soft;
    if (!is_changed_) return;
    const rlimit lower{soft, own_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimit() {
    if (is_changed_) setrlimit(RLIMIT_NOFILE, &own_);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit own_{};
  bool is_changed_ = false;
};

// 0, or why nothing can run in this directory.
int trouble_with(const std::string& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) return errno;
  if (!S_ISDIR(info.st_mode)) return ENOTDIR;
  return access(dir.c_str(), X_OK) == 0 ? 0 : errno;
}

// posix_spawn says why, not what for: the directory is asked again to tell its failure from that of
// the program.
SpawnError explain(int error, const std::string& program, const std::string& cwd) {
  if (const int trouble = cwd.empty() ? 0 : trouble_with(cwd))
    return {126,
            "cannot enter the working directory " + quoted(cwd) + ": " + std::strerror(trouble)};
  const bool exists = access(program.c_str(), F_OK) == 0;
  std::string what = "cannot start " + quoted(program) + ": " + std::strerror(error);
  if (error == ENOENT && exists) what += " (the interpreter in its first line)";
  return {error == ENOENT && !exists ? 127 : 126, std::move(what)};
}

}  // namespace

Result<Spawner> Spawner::create() {
  Spawner spawner;
  spawner.null_.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  spawner.task_descriptors_ = transport::raise_descriptor_limit();
  if (!spawner.null_) return fail(Errc::system, std::strerror(errno), "/dev/null");
  auto own = CpuMask::current();
  if (!own) return tl::unexpected<Error>(own.error());
  spawner.own_cpus_ = std::move(*own);
  return spawner;
}

tl::expected<pid_t, SpawnError> Spawner::spawn(const SpawnRequest& request) const {
  const auto program = find_program(request);
  if (!program) return tl::unexpected(program.error());
  Actions actions;
  const int null = null_.get();
  posix_spawn_file_actions_adddup2(actions.get(), null, 0);
  posix_spawn_file_actions_adddup2(actions.get(), request.out < 0 ? null : request.out, 1);
  posix_spawn_file_actions_adddup2(actions.get(), request.err < 0 ? null : request.err, 2);
  posix_spawn_file_actions_addclosefrom_np(actions.get(), 3);
  if (!request.cwd.empty())
    posix_spawn_file_actions_addchdir_np(actions.get(), request.cwd.c_str());
  Attributes attributes;
  std::vector<char*> argv = pointers(request.argv);
  const std::vector<char*> env = pointers(request.env);
  if (request.cpus)
    if (const Status bound = request.cpus->apply(); !bound)
      return tl::unexpected(SpawnError{126, bound.error().what});
  pid_t pid = -1;
  const DescriptorLimit limit(task_descriptors_);
  int error =
      posix_spawn(&pid, program->c_str(), actions.get(), attributes.get(), argv.data(), env.data());
  if (error == ENOEXEC) {  // a script without a first line: a shell's, as execvp(3) has it
    argv[0] = const_cast<char*>(program->c_str());
    argv.insert(argv.begin(), const_cast<char*>("/bin/sh"));
    error = posix_spawn(&pid, "/bin/sh", actions.get(), attributes.get(), argv.data(), env.data());
  }
  if (request.cpus) static_cast<void>(own_cpus_.apply());  // at worst it stays where the child is
  if (error != 0) return tl::unexpected(explain(error, *program, request.cwd));
  return pid;
}

}  // namespace holon::launch
