#include "tests/system/nodes/private_hosts.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "places.hpp"  // written by CMake

namespace holon::system_test {
namespace {

bool is_there(const std::string& program) {
  for (const char* folder : {"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"})
    if (access((folder + program).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

std::string PrivateHosts::missing() {
  if (geteuid() != 0) return "hosts are made of namespaces, for which one has to be root";
  for (const char* program : {"ip", "unshare", "nsenter"})
    if (!is_there(program))
      return fmt::format("there is no {} here: apt-get install iproute2 util-linux", program);
  if (access("/dev/net/tun", R_OK | W_OK) != 0) return "there is no /dev/net/tun here";
  static const int kRefused =
      std::system("unshare --net --uts --mount --ipc --pid --fork true 2>/dev/null");
  if (kRefused != 0) return "this kernel or container permits no namespaces";
  return "";
}

std::string PrivateHosts::name_of(std::size_t host) {
  return host == 0 ? "login" : fmt::format("n{}", host);
}

PrivateHosts::PrivateHosts(Sandbox& sandbox, std::size_t count, Files files) : sandbox_(sandbox) {
  std::string names = "127.0.0.1 localhost\n";
  for (std::size_t host = 0; host <= count; ++host)
    names += fmt::format("{} {}\n", Network::address_of(host), name_of(host));
  sandbox_.write_file("etc-hosts", names);
  for (std::size_t host = 0; host <= count; ++host) begin(host, files);
  connect();
}

// Its first process waits for the test's end, and takes what loses its parent there.
void PrivateHosts::begin(std::size_t host, Files files) {
  std::string script = fmt::format(
      "set -e\nhostname {0}\nmount --bind {1}/etc-hosts /etc/hosts\n"
      "mount -t tmpfs -o mode=700 run {1}/run\nmount -t tmpfs -o mode=755 run /run\n"
      "mkdir /run/sshd\nip link set lo up\n",
      name_of(host), sandbox_.folder());
  if (files == Files::own)
    script += fmt::format(
        "mkdir -p {0}/state\nmount -t tmpfs -o mode=700 state {0}/state\n"
        "mount -t tmpfs -o mode=1777 tmp {0}/tmp\n",
        sandbox_.folder());
  script += "echo ready\nset +e\ncat > /dev/null\n:\n";
  const auto file = sandbox_.write_file("host-" + name_of(host), script);
  hosts_.emplace_back().holder = std::make_unique<Process>(
      std::vector<std::string>{"/usr/bin/unshare", "--net", "--uts", "--mount", "--ipc", "--pid",
                               "--fork", "--kill-child", "--mount-proc", "/bin/sh", file},
      std::map<std::string, std::string>{{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}}, "/");
  Host& made = hosts_.back();
  if (made.holder->read_line() == "ready") made.first = child_of(made.holder->pid());
  if (made.first == 0)
    ADD_FAILURE() << name_of(host) << " did not come up: " << made.holder->read_error_line();
}

void PrivateHosts::connect() {
  std::vector<pid_t> pids;
  for (const Host& host : hosts_) {
    if (host.first == 0) return;
    pids.push_back(host.first);
  }
  auto network = Network::between(pids);
  if (!network) {
    ADD_FAILURE() << to_string(network.error());
    return;
  }
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const std::string script = fmt::format(
        "ip link set eth0 address 02:00:00:00:00:{:02x} && ip addr add {}/24 dev eth0 && "
        "ip link set eth0 up",
        host, Network::address_of(host));
    Process set({"/usr/bin/nsenter", "--net=" + fmt::format("/proc/{}/ns/net", pids[host]),
                 "/bin/sh", "-c", script},
                {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}}, "/");
    const Ran ran = set.finish();
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  network_ = std::move(*network);
}

std::vector<std::string> PrivateHosts::runtime_folders(std::size_t host) const {
  std::vector<std::string> found;
  std::error_code ignored;
  const auto run = fmt::format("/proc/{}/root{}/run", hosts_[host].first, sandbox_.folder());
  for (const auto& entry : std::filesystem::directory_iterator(run, ignored))
    found.push_back(entry.path());
  return found;
}

void PrivateHosts::go_back() {
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    for (const auto& folder : runtime_folders(host)) {
      if (!may_leave_folders_)
        ADD_FAILURE() << "left behind on " << name_of(host) << ": " << folder;
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  may_leave_folders_ = false;
}

PrivateHosts::~PrivateHosts() {
  // Before the namespaces hide it.
  for (const pid_t pid : sandbox_.processes())
    ADD_FAILURE() << "left behind on a host: " << pid << " " << command_line(pid);
  go_back();
  for (Host& host : hosts_) host.holder->finish();
}

std::vector<std::string> PrivateHosts::on(std::size_t host, std::vector<std::string> words) const {
  std::vector<std::string> all = {"/usr/bin/nsenter",
                                  "--target",
                                  std::to_string(hosts_[host].first),
                                  "--net",
                                  "--uts",
                                  "--mount",
                                  "--ipc",
                                  "--pid",
                                  "--wd=" + sandbox_.folder(),
                                  "--"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Process PrivateHosts::start(std::size_t host, std::vector<std::string> words) {
  return Process(on(host, std::move(words)), sandbox_.environment(), sandbox_.folder());
}

Ran PrivateHosts::holon(std::size_t host, std::vector<std::string> words) {
  words.insert(words.begin(), HOLON_BINARY);
  return run(host, std::move(words));
}

std::string PrivateHosts::no_remote_shell() {
  for (const char* program : {"sshd", "ssh", "ssh-keygen"})
    if (!is_there(program))
      return fmt::format("there is no {} here: apt-get install openssh-server openssh-client",
                         program);
  return "";
}

// What its sessions have in their environment the daemon says; nothing else is handed over. Their
// home is the test's: the shell of a session reads what it finds in a person's home, and a pyenv
// there waits a minute for a lock that a killed session left.
void PrivateHosts::start_sshd(std::size_t host) {
  const std::string line = fmt::format(
      "exec /usr/sbin/sshd -D -f {0}/ssh/sshd_config 2> {0}/ssh/log-{1}", sandbox_.folder(), host);
  hosts_[host].sshd = std::make_unique<Process>(
      on(host, {"/bin/sh", "-c", line}),
      std::map<std::string, std::string>{{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}}, "/");
}

std::string PrivateHosts::remote_shell() {
  const std::string folder = sandbox_.folder() + "/ssh";
  if (std::filesystem::exists(folder + "/ssh")) return folder + "/ssh";
  std::filesystem::create_directory(folder);
  for (const char* key : {"/host", "/user"}) {
    const Ran made = run(0, {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder + key});
    EXPECT_EQ(made.code, 0) << made.err;
  }
  std::string sessions = "SetEnv";
  for (const auto& [name, value] : sandbox_.environment())
    if (name != "PATH") sessions += fmt::format(" \"{}={}\"", name, value);
  sandbox_.write_file(
      "ssh/sshd_config",
      fmt::format("HostKey {0}/host\nAuthorizedKeysFile {0}/user.pub\nStrictModes no\nUsePAM no\n"
                  "PermitRootLogin yes\nPasswordAuthentication no\nPidFile none\n"
                  "MaxStartups 100\nMaxSessions 100\nUseDNS no\n{1}\n",
                  folder, sessions));
  sandbox_.write_file("ssh/config",
                      fmt::format("IdentityFile {}/user\nUserKnownHostsFile /dev/null\n"
                                  "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking no\n"
                                  "LogLevel ERROR\nConnectionAttempts 20\nUser root\n",
                                  folder));
  for (std::size_t host = 1; host < hosts_.size(); ++host) start_sshd(host);
  return sandbox_.write_file(
      "ssh/ssh", fmt::format("#!/bin/sh\nexec /usr/bin/ssh -F {}/config \"$@\"\n", folder), true);
}

}  // namespace holon::system_test
