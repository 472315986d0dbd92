#include "tests/system/private_slurm.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace holon::system_test {
namespace {

namespace fs = std::filesystem;

// The daemons stand in a folder that is not in the path of an ordinary user.
constexpr const char* kFolders[] = {"/usr/sbin/", "/usr/bin/", "/sbin/", "/usr/local/sbin/"};

std::string program(const std::string& name) {
  for (const char* folder : kFolders)
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return "";
}

bool is_free(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  close(fd);
  return bound;
}

// Below the ports that the system gives away by itself; other tests run at the same time, each in a
// process of its own.
int free_ports(int count) {
  constexpr int kFirst = 12'000, kLast = 32'000;
  const int begin = kFirst + getpid() * 37 % (kLast - kFirst);
  for (int tried = 0; tried < 1000; ++tried) {
    const int port = kFirst + (begin - kFirst + tried * 16) % (kLast - kFirst - count);
    bool all = true;
    for (int i = 0; all && i < count; ++i) all = is_free(port + i);
    if (all) return port;
  }
  return kFirst;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return std::string(name).substr(0, std::string(name).find('.'));
}

std::string user_name() {
  Process id({"/usr/bin/id", "-un"}, {}, "/");
  std::string name = id.finish().out;
  name.erase(std::remove(name.begin(), name.end(), '\n'), name.end());
  return name;
}

}  // namespace

std::string PrivateSlurm::missing() {
  for (const char* name : {"slurmctld", "slurmd", "srun", "sbatch"})
    if (program(name).empty())
      return fmt::format("there is no {} here: apt-get install slurmctld slurmd slurm-client",
                         name);
  return "";
}

PrivateSlurm::PrivateSlurm(Sandbox& sandbox, int nodes, int cpus)
    : sandbox_(sandbox), first_port_(free_ports(nodes + 1)) {
  begin(nodes, cpus);
}

PrivateSlurm::PrivateSlurm(Sandbox& sandbox, PrivateHosts& hosts, int cpus)
    : sandbox_(sandbox), hosts_(&hosts), first_port_(6817) {
  begin(static_cast<int>(hosts.count()), cpus);
}

PrivateSlurm::PrivateSlurm(Sandbox& sandbox, const std::string& declared)
    : sandbox_(sandbox), first_port_(free_ports(1)) {
  write_configuration(declared);
  sandbox_.environment()["SLURM_CONF"] = sandbox_.folder() + "/slurm/slurm.conf";
  start_daemon(0, "slurmctld", "");
  up_ = eventually([this] { return run({"sinfo", "-h"}).code == 0; });
}

void PrivateSlurm::begin(int nodes, int cpus) {
  nodes_ = nodes;
  write_configuration(nodes_text(nodes, cpus));
  sandbox_.environment()["SLURM_CONF"] = sandbox_.folder() + "/slurm/slurm.conf";
  start_daemon(0, "slurmctld", "");
  for (int node = 1; node <= nodes; ++node)
    start_daemon(static_cast<std::size_t>(node), "slurmd", fmt::format("-N n{}", node));
  up_ = wait_until_idle();
}

void PrivateSlurm::start_daemon(std::size_t host, const std::string& name,
                                const std::string& options) {
  std::vector<std::string> words = {
      "/bin/sh", "-c",
      fmt::format("exec {} -D {} > {}/slurm/{}.out 2>&1 < /dev/null", program(name), options,
                  sandbox_.folder(), options.empty() ? name : "slurmd-" + options.substr(3))};
  if (hosts_ != nullptr) words = hosts_->on(host, std::move(words));
  daemons_.push_back(
      std::make_unique<Process>(std::move(words), sandbox_.environment(), sandbox_.folder()));
}

PrivateSlurm::~PrivateSlurm() {
  cancel_all();
  // On a host it is the child of what started it there, which ends with it.
  for (auto& daemon : daemons_)
    if (hosts_ == nullptr)
      daemon->signal(SIGKILL);
    else if (const pid_t inner = child_of(daemon->pid()); inner > 1)
      kill(inner, SIGKILL);
  for (auto& daemon : daemons_) daemon->finish();
}

// A daemon of a step outlives the one of its node, and ends when its tasks have.
void PrivateSlurm::cancel_all() {
  run({"scancel", "--user=" + user_name()});
  const auto is_empty = [&] { return run({"squeue", "-h", "-o", "%i"}).out.empty(); };
  if (!up_) return;
  EXPECT_TRUE(eventually(is_empty) || eventually(is_empty));
}

void PrivateSlurm::become_idle() {
  cancel_all();
  if (run({"sinfo", "-h", "-N", "-o", "%T"}).out.find("dr") != std::string::npos)
    for (int node = 1; node <= nodes_; ++node)
      run({"scontrol", "update", fmt::format("nodename=n{}", node), "state=resume"});
  up_ = up_ && wait_until_idle();
}

std::string PrivateSlurm::nodes_text(int nodes, int cpus) const {
  std::string text;
  for (int node = 1; node <= nodes; ++node) {
    const auto here =
        hosts_ == nullptr
            ? fmt::format("NodeHostname={} NodeAddr=127.0.0.1 Port={}", host_name(),
                          first_port_ + node)
            : fmt::format("NodeAddr={} Port={}",
                          Network::address_of(static_cast<std::size_t>(node)), first_port_ + 1);
    text += fmt::format("NodeName=n{} {} CPUs={} RealMemory=4000{}\n", node, here, cpus,
                        hosts_ == nullptr ? "" : " Gres=gpu:2");
  }
  return text;
}

// No cgroup, no accounting, no authentication beyond who runs it, and nodes that may
// have more CPUs than the machine.
void PrivateSlurm::write_configuration(const std::string& nodes) {
  const std::string folder = sandbox_.folder() + "/slurm";
  for (const char* name : {"", "/state", "/spool"}) fs::create_directory(folder + name);
  const std::string user = user_name();
  const std::string at = hosts_ == nullptr ? host_name() + "(127.0.0.1)"
                                           : fmt::format("login({})", Network::address_of(0));
  std::string text = fmt::format(
      "ClusterName=test\nSlurmctldHost={}\nSlurmctldPort={}\nSlurmUser={}\n"
      "SlurmdUser={}\nAuthType=auth/none\nCredType=cred/none\n",
      at, first_port_, user, user);
  text += fmt::format(
      "StateSaveLocation={0}/state\nSlurmctldPidFile={0}/slurmctld.pid\n"
      "SlurmctldLogFile={0}/slurmctld.log\nSlurmdSpoolDir={0}/spool/%n\n"
      "SlurmdPidFile={0}/slurmd-%n.pid\nSlurmdLogFile={0}/slurmd-%n.log\n",
      folder);
  text +=
      "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
      "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"
      "SlurmdParameters=config_overrides\nSelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_CPU\nSchedulerType=sched/backfill\n"
      "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0\nReturnToService=2\n"
      "KillWait=30\nMinJobAge=300\n";
  if (hosts_ != nullptr) {
    // Devices that stand for others (/dev/null is 1, 3): nothing but their names is asked for.
    text += "GresTypes=gpu\n";
    for (const char* device : {"/gpu0", "/gpu1"})
      EXPECT_EQ(mknod((folder + device).c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
    sandbox_.write_file(
        "slurm/gres.conf",
        fmt::format("NodeName=n[1-{}] Name=gpu File={}/gpu[0-1]\n", nodes_, folder));
  }
  text += nodes + "PartitionName=main Nodes=ALL Default=YES DefaultTime=60\n";
  sandbox_.write_file("slurm/slurm.conf", text);
  // slurmd initialises a cgroup plugin that nothing uses, and dies where it cannot tell v1 from v2.
  sandbox_.write_file("slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n");
}

bool PrivateSlurm::wait_until_idle() {
  std::string states;
  const auto all_are = [&] {
    states = run({"sinfo", "-h", "-N", "-o", "%T"}).out;
    return std::count(states.begin(), states.end(), '\n') == nodes_ &&
           states.find_first_not_of("idle\n") == std::string::npos;
  };
  if (eventually(all_are)) return true;
  ADD_FAILURE() << "not all nodes of the private Slurm are idle: " << states << "\n"
                << sandbox_.read_file("slurm/slurmctld.log")
                << sandbox_.read_file("slurm/slurmctld.out")
                << sandbox_.read_file("slurm/slurmd-n1.log")
                << sandbox_.read_file("slurm/slurmd-n1.out");
  return false;
}

void WithSlurm::SetUp() {
  if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
  auto& slurm = shared().slurm;
  if (slurm == nullptr) {
    slurm = std::make_unique<PrivateSlurm>(sandbox_, nodes_, cpus_);
    sandbox_.keep();
  }
  slurm_ = slurm.get();
  ASSERT_TRUE(slurm_->up());
}

void WithSlurm::TearDown() {
  if (slurm_ == nullptr) return;
  slurm_->become_idle();
  sandbox_.go_back("slurmstepd");
}

Process PrivateSlurm::start(std::vector<std::string> words) {
  if (hosts_ != nullptr) return hosts_->start(0, std::move(words));
  return Process(std::move(words), sandbox_.environment(), sandbox_.folder());
}

std::string PrivateSlurm::submit(const std::vector<std::string>& options,
                                 const std::string& script) {
  std::vector<std::string> words = {"sbatch", "--parsable", "-o", sandbox_.folder() + "/job-%j"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(script);
  const Ran ran = run(std::move(words));
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.out.substr(0, ran.out.find('\n'));
}

}  // namespace holon::system_test
