#include "tests/system/nodes/private_grid_engine.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace holon::system_test {
namespace {

constexpr const char* kParts = "/usr/lib/gridengine";
constexpr const char* kShared = "/usr/share/gridengine";

// What a queue is, as `qconf -Aq` wants to read it: every key, though few say anything. `folders`:
// where the hosts make, and remove, the folder of a job, each in one of its own.
std::string queue_text(int slots, const std::string& folders) {
  std::string text = fmt::format(
      "qname all.q\nhostlist @allhosts\nseq_no 0\nnsuspend 1\nsuspend_interval 00:05:00\n"
      "priority 0\nmin_cpu_interval 00:05:00\nprocessors UNDEFINED\nqtype BATCH INTERACTIVE\n"
      "pe_list mpi\nrerun FALSE\nslots {}\ntmpdir {}\nshell /bin/sh\n"
      "shell_start_mode unix_behavior\nnotify 00:00:60\ninitial_state default\n",
      slots, folders);
  for (const char* none :
       {"load_thresholds", "suspend_thresholds", "ckpt_list", "prolog", "epilog", "starter_method",
        "suspend_method", "resume_method", "terminate_method", "owner_list", "user_lists",
        "xuser_lists", "subordinate_list", "complex_values", "projects", "xprojects", "calendar"})
    text += fmt::format("{} NONE\n", none);
  for (const char* limit : {"rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem"})
    text += fmt::format("s_{0} INFINITY\nh_{0} INFINITY\n", limit);
  return text;
}

constexpr const char* kParallelEnvironment =
    "pe_name mpi\nslots 999\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args NONE\n"
    "stop_proc_args NONE\nallocation_rule $round_robin\ncontrol_slaves TRUE\n"
    "job_is_first_task FALSE\nurgency_slots min\naccounting_summary FALSE\nqsort_args NONE\n";

// A host knows the processes of a job by a group that it gives to no other job. All hosts of all
// tests are one kernel: two of them that took the same group waited for, or killed, each other's
// processes.
std::size_t first_group(std::size_t host) {
  return 1'000'000 + static_cast<std::size_t>(getpid()) * 100 + host * 10;
}

}  // namespace

std::string PrivateGridEngine::missing() {
  for (const char* program : {"/usr/lib/gridengine/sge_qmaster", "/usr/lib/gridengine/sge_execd",
                              "/usr/lib/gridengine/qsub"})
    if (access(program, X_OK) != 0)
      return fmt::format(
          "there is no {} here: apt-get install gridengine-master gridengine-exec "
          "gridengine-client",
          program);
  return PrivateHosts::missing();
}

PrivateGridEngine::PrivateGridEngine(Sandbox& sandbox, PrivateHosts& hosts, int slots)
    : sandbox_(sandbox), hosts_(hosts) {
  auto& environment = sandbox_.environment();
  environment["SGE_ROOT"] = root();
  environment["SGE_CELL"] = "default";
  environment["SGE_QMASTER_PORT"] = "6444";
  environment["SGE_EXECD_PORT"] = "6445";
  environment["SGE_ND"] = "1";  // its daemons stay the children of who started them
  make_cell();
  start_daemon(0, "sge_qmaster");
  up_ = configure(slots);
}

// As scripts/init_cluster of the package does for the whole machine.
void PrivateGridEngine::make_cell() {
  const std::string script = fmt::format(
      "set -e\nmkdir -p {0}/settings {0}/default/common {0}/spool/qmaster/job_scripts "
      "{0}/spool/execd\n"
      "for part in bin lib utilbin; do ln -s /var/lib/gridengine/$part {0}/$part; done\n"
      "ln -s {1}/util {0}/util\n"
      "sed \"s|^spooling_params.*|spooling_params {0}/default/common;{0}/spool/qmaster|; "
      "s|berkeleydb|classic|; s|libspoolb|libspoolc|; s|/var/spool/gridengine|{0}/spool|; "
      "s|^admin_user.*|admin_user none|\" {1}/default-bootstrap > {0}/default/common/bootstrap\n"
      "echo login > {0}/default/common/act_qmaster\n"
      "{2}/spoolinit classic libspoolc '{0}/default/common;{0}/spool/qmaster' init\n"
      "sed \"s|/var/spool/gridengine|{0}/spool|; s|^min_uid.*|min_uid 0|; "
      "s|^min_gid.*|min_gid 0|\" {1}/default-configuration > {0}/configuration\n"
      "{2}/spooldefaults configuration {0}/configuration\n"
      "{2}/spooldefaults complexes {1}/util/resources/centry\n"
      "{2}/spooldefaults usersets {1}/util/resources/usersets\n"
      "{2}/spooldefaults managers root\n",
      root(), kShared, kParts);
  const Ran ran = run({"/bin/sh", sandbox_.write_file("make-cell.sh", script)});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

void PrivateGridEngine::start_daemon(std::size_t host, const std::string& name) {
  const std::string line = fmt::format("exec {}/{} > {}/{}-{}.out 2>&1 < /dev/null", kParts, name,
                                       root(), name, PrivateHosts::name_of(host));
  daemons_.push_back(std::make_unique<Process>(hosts_.on(host, {"/bin/sh", "-c", line}),
                                               sandbox_.environment(), sandbox_.folder()));
}

// The daemons answer from some time on: each question is asked until they do.
bool PrivateGridEngine::configure(int slots) {
  // All hosts of all tests have one /tmp: the folder of job 1 there was removed by whichever host
  // was done with it first, also by one of another test.
  std::string hosts, settings, folders = root() + "/tmp";
  for (std::size_t host = 1; host <= hosts_.count(); ++host) {
    const std::string folder = root() + "/tmp-" + PrivateHosts::name_of(host);
    std::filesystem::create_directories(folder);
    folders += fmt::format(",[{}={}]", PrivateHosts::name_of(host), folder);
    hosts += " " + PrivateHosts::name_of(host);
    settings += fmt::format(" {}/settings/{}", root(), PrivateHosts::name_of(host));
    sandbox_.write_file(
        "sge/settings/" + PrivateHosts::name_of(host),
        fmt::format("gid_range {0}-{1}\n", first_group(host), first_group(host) + 9));
  }
  sandbox_.write_file("sge/hosts", "group_name @allhosts\nhostlist" + hosts + "\n");
  sandbox_.write_file("sge/pe", kParallelEnvironment);
  sandbox_.write_file("sge/queue", queue_text(slots, folders));
  const std::string script = fmt::format(
      "tries=0\nuntil qconf -sh > /dev/null 2>&1; do tries=$((tries + 1)); [ $tries -lt 300 ] || "
      "exit 1; sleep 0.1; done\nset -e\n"
      "for host in{0}; do qconf -ah $host; qconf -as $host; done\nqconf -as login\n"
      "for file in{2}; do qconf -Aconf $file; done\n"
      "qconf -Ahgrp {1}/hosts\nqconf -Ap {1}/pe\n"
      "qconf -ssconf | sed 's/^schedule_interval.*/schedule_interval 0:0:1/; "
      "s/^flush_submit_sec.*/flush_submit_sec 1/; s/^flush_finish_sec.*/flush_finish_sec 1/; "
      "s/^job_load_adjustments.*/job_load_adjustments NONE/' > {1}/scheduler\n"
      "qconf -Msconf {1}/scheduler\nqconf -Aq {1}/queue\n",
      hosts, root(), settings);
  const Ran ran = run({"/bin/sh", sandbox_.write_file("configure.sh", script)});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err << sandbox_.read_file("sge/sge_qmaster-login.out");
  if (ran.code != 0) return false;
  for (std::size_t host = 1; host <= hosts_.count(); ++host) start_daemon(host, "sge_execd");
  // A host that has not reported yet has a load of "-NA-" and takes no jobs.
  const std::string wait =
      "tries=0\nuntil [ $(qstat -f | grep -c ' lx-amd64 *$') = " + std::to_string(hosts_.count()) +
      " ]; do tries=$((tries + 1)); [ $tries -lt 300 ] || exit 1; sleep 0.1; done\n";
  const Ran all = run({"/bin/sh", sandbox_.write_file("wait.sh", wait)});
  EXPECT_EQ(all.code, 0) << run({"qstat", "-f"}).out;
  return all.code == 0;
}

std::string PrivateGridEngine::submit(int slots, const std::string& script) {
  const Ran ran =
      run({"qsub", "-terse", "-cwd", "-j", "y", "-V", "-o", sandbox_.folder() + "/job-$JOB_ID",
           "-pe", "mpi", std::to_string(slots), script});
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.out.substr(0, ran.out.find('\n'));
}

void PrivateGridEngine::delete_all() {
  run({"qdel", "-u", "*"});
  EXPECT_TRUE(eventually([&] { return !has_jobs(); })) << jobs();
}

PrivateGridEngine::~PrivateGridEngine() {
  if (up_) delete_all();
  // Each is the child of what started it on its host.
  for (auto& daemon : daemons_)
    if (const pid_t inner = child_of(daemon->pid()); inner > 1) kill(inner, SIGTERM);
  for (auto& daemon : daemons_) daemon->finish();
}

}  // namespace holon::system_test
