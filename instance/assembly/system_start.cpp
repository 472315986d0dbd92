#include "instance/assembly/system_start.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/names.hpp"
#include "base/whole_file.hpp"
#include "config/value.hpp"
#include "starter/serve.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

constexpr const char* kStateDir = "/var/lib/holon";
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// A copy of what getpwnam() has found.
struct InstanceAccount {
  std::string name, home;
  uid_t uid = 0;
  gid_t gid = 0;
};

Result<InstanceAccount> find_instance_account(const std::string& name) {
  errno = 0;
  const passwd* const entry = getpwnam(name.c_str());
  if (entry == nullptr && could_not_ask(errno))
    return system_error("the user could not be asked for", "--account " + name);
  if (entry == nullptr)
    return fail(Errc::not_found,
                fmt::format("there is no such user; `useradd --system {}` makes one", name),
                "--account " + name);
  if (entry->pw_uid == 0)
    return fail(Errc::invalid_argument, "it has to be an account without privilege",
                "--account " + name);
  return InstanceAccount{entry->pw_name, entry->pw_dir, entry->pw_uid, entry->pw_gid};
}

Status check_together(const StartOptions& options, const config::Config& config) {
  const auto no = [](std::string with) {
    return fail(Errc::invalid_argument,
                "is not accepted with --system, for an instance of several users", std::move(with));
  };
  if (geteuid() != 0)
    return fail(Errc::denied, "only root can start tasks as other users", "--system");
  if (!options.hosts.empty()) return no("--hosts");
  if (options.agents > 1) return no(fmt::format("--agents {}", options.agents));
  if (!options.journal) return no("--no-journal");
  if (config.tracking == config::TrackingKind::cgroup) return no("job.tracking = \"cgroup\"");
  return {};
}

// The folder is made by root, or by an earlier run: nobody else can have prepared it.
Status make_place(const std::string& path, const InstanceAccount& account, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error("the folder cannot be made", path);
  const transport::UniqueFd folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!folder || fstat(folder.get(), &info) != 0)
    return system_error("it is no folder that can be used", path);
  if ((info.st_uid != 0 && info.st_uid != account.uid) || (info.st_mode & 022) != 0)
    return fail(Errc::denied,
                fmt::format("the folder is neither root's nor {}'s, or others may write to it",
                            account.name),
                path);
  if (fchown(folder.get(), account.uid, account.gid) != 0 || fchmod(folder.get(), mode) != 0)
    return system_error("the folder cannot be given to the account", path);
  return {};
}

Result<starter::Settings> settings_of(const config::AccessConfig& access,
                                      const std::vector<config::ConfItem>& items,
                                      const InstanceAccount& account) {
  starter::Settings settings;
  settings.instance = account.uid;
  settings.least = static_cast<uid_t>(access.least_uid);
  settings.no_new_privileges = access.no_new_privileges;
  settings.everybody = false;
  for (const auto& [key, list] : {std::pair<std::string, std::string>("access.users", access.users),
                                  {"access.operators", access.operators}}) {
    for (const auto& name : config::words(list)) {
      if (name == "*") {
        settings.everybody = true;
        continue;
      }
      errno = 0;
      const passwd* const entry = getpwnam(name.c_str());
      if (entry == nullptr && could_not_ask(errno))
        return system_error(fmt::format("user {} could not be asked for", name),
                            config::place_of(items, key));
      if (entry == nullptr)
        return fail(Errc::not_found, fmt::format("there is no user {} on this machine", name),
                    config::place_of(items, key));
      settings.users.insert(entry->pw_uid);
    }
  }
  return settings;
}

Status become(const InstanceAccount& account) {
  if (initgroups(account.name.c_str(), account.gid) != 0 ||
      setresgid(account.gid, account.gid, account.gid) != 0 ||
      setresuid(account.uid, account.uid, account.uid) != 0)
    return system_error("cannot become the account", account.name);
  if (setuid(0) == 0 || geteuid() != account.uid || getuid() != account.uid)
    return fail(Errc::system, "this process is still root", account.name);
  // No program that it starts becomes root, either: setuid gives nothing.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error("no_new_privs");
  prctl(PR_SET_DUMPABLE, 1);
  return {};
}

// Root's own environment is nobody's business.
void make_environment(const InstanceAccount& account, const std::string& place) {
  std::map<std::string, std::string> kept = {{"PATH", kPath},        {"HOME", account.home},
                                             {"USER", account.name}, {"LOGNAME", account.name},
                                             {"SHELL", "/bin/sh"},   {"XDG_RUNTIME_DIR", place}};
  for (const char* name : {"LANG", "LC_ALL", "TZ"})
    if (const char* value = std::getenv(name)) kept[name] = value;
  clearenv();
  for (const auto& [name, value] : kept) setenv(name.c_str(), value.c_str(), 1);
}

// The starter would keep its caller's pipes open for as long as it lives.
void leave_streams(bool detached) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fd != STDERR_FILENO || detached) dup2(null, fd);
}

enum class WhoseChild { own, nobodys };

Result<StarterEnds> fork_starter(const starter::Settings& settings, bool detached,
                                 WhoseChild whose = WhoseChild::own) {
  int supervisor[2], agent[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, supervisor) != 0 ||
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, agent) != 0)
    return system_error("connections to the starter");
  const pid_t pid = fork();
  if (pid < 0) return system_error("the starter");
  // A caller that ends all of its children must not be the starter's parent.
  if (pid == 0 && whose == WhoseChild::nobodys)
    if (const pid_t own = fork(); own != 0) _exit(own < 0 ? 1 : 0);
  // The agent's connection comes first: a count over the supervisor's has everything in it.
  if (pid == 0) {
    leave_streams(detached);
    starter::serve({agent[1], supervisor[1]}, settings);
  }
  int status = 0;
  if (whose == WhoseChild::nobodys && (waitpid(pid, &status, 0) != pid || status != 0))
    return fail(Errc::system, "it cannot be made", "the starter");
  close(supervisor[1]);
  close(agent[1]);
  return StarterEnds{supervisor[0], agent[0]};
}

// The public key in the first line, the secret one in the second.
Result<transport::KeyPair> lasting_key(const std::string& file) {
  constexpr std::size_t kLongestFile = 256;
  if (const auto kept = read_regular_file(file, kLongestFile); kept && !kept->empty()) {
    std::istringstream lines(*kept);
    transport::KeyPair key;
    if (lines >> key.public_key >> key.secret_key) return key;
    return fail(Errc::invalid_argument, "holds no key; without it a new one is made", file);
  }
  auto key = transport::new_key_pair();
  if (!key) return key;
  const transport::UniqueFd out(
      open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const std::string text = key->public_key + "\n" + key->secret_key + "\n";
  if (!out || write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return system_error("the key cannot be written", file);
  return key;
}

}  // namespace

Result<Endpoint> endpoint_for_users(const std::string& state_dir, const config::Config& config,
                                    std::size_t nodes) {
  auto key = lasting_key(state_dir + "/server.key");
  if (!key) return tl::unexpected<Error>(key.error());
  auto endpoint =
      make_endpoint(nodes, config.address, static_cast<std::uint16_t>(config.access.port));
  if (!endpoint) return endpoint;
  endpoint->keys.server = std::move(*key);
  endpoint->invitation.server_key = endpoint->keys.server.public_key;
  return endpoint;
}

Result<StarterEnds> begin_for_users(StartOptions& options, const config::Config& config,
                                    const std::vector<config::ConfItem>& items, bool detached) {
  if (auto good = check_together(options, config); !good)
    return tl::unexpected<Error>(good.error());
  const auto account = find_instance_account(options.account);
  if (!account) return tl::unexpected<Error>(account.error());
  if (options.state_dir.empty()) options.state_dir = kStateDir;
  const auto settings = settings_of(config.access, items, *account);
  if (!settings) return tl::unexpected<Error>(settings.error());
  if (auto made = make_place(options.runtime_place, *account, 0755); !made)
    return tl::unexpected<Error>(made.error());
  if (auto made = make_place(options.state_dir, *account, 0700); !made)
    return tl::unexpected<Error>(made.error());
  const auto ends = fork_starter(*settings, detached);
  if (!ends) return ends;
  make_environment(*account, options.runtime_place);
  if (auto is_it = become(*account); !is_it) return tl::unexpected<Error>(is_it.error());
  return ends;
}

Result<StarterEnds> begin_node_for_users(const std::string& account_name, const std::string& place,
                                         const config::Config& config,
                                         const std::vector<config::ConfItem>& items) {
  if (geteuid() != 0)
    return fail(Errc::denied, "only root can start tasks as other users", "--system");
  const auto account = find_instance_account(account_name);
  if (!account) return tl::unexpected(account.error());
  const auto settings = settings_of(config.access, items, *account);
  if (!settings) return tl::unexpected(settings.error());
  if (auto made = make_place(place, *account, 0755); !made) return tl::unexpected(made.error());
  const auto ends = fork_starter(*settings, false, WhoseChild::nobodys);
  if (!ends) return ends;
  make_environment(*account, place);
  if (auto is_it = become(*account); !is_it) return tl::unexpected(is_it.error());
  return ends;
}

}  // namespace holon::instance
