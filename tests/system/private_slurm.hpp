// private_slurm.hpp - a real Slurm of several nodes for a test or a suite, with all of its state in
// the sandbox.
//
// No munge, no cgroup. On loopback it needs no root: whoever runs the test may submit, and the
// nodes are all this machine, each with a daemon and a port of its own; SLURMD_NODENAME tells them
// apart. On private hosts each node is one of them, and "login" has the controller.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {

class PrivateSlurm {
 public:
  // Why there can be none here: GTEST_SKIP() << that. "": there can.
  static std::string missing();

  // Nodes n1, n2, ... of so many CPUs each. The sandbox's environment gets SLURM_CONF, and must
  // outlive it.
  PrivateSlurm(Sandbox& sandbox, int nodes, int cpus);
  // The hosts n1, n2, ..., which must outlive it, with so many CPUs and two pretended GPUs each.
  PrivateSlurm(Sandbox& sandbox, PrivateHosts& hosts, int cpus);
  // The controller alone: it answers what was asked for, and nothing runs. `declared`: lines about
  // its nodes, licences and the like.
  PrivateSlurm(Sandbox& sandbox, const std::string& declared);
  // Cancels what runs, and ends the daemons.
  ~PrivateSlurm();
  PrivateSlurm(const PrivateSlurm&) = delete;
  PrivateSlurm& operator=(const PrivateSlurm&) = delete;

  // Are all nodes there? Otherwise the test has failed, and the logs are among the messages.
  bool up() const { return up_; }

  // Between two tests: cancels what runs, and returns when all nodes are idle.
  void become_idle();

  // A program of Slurm's, or any other, with the sandbox's environment; on "login".
  Process start(std::vector<std::string> words);
  Ran run(std::vector<std::string> words) { return start(std::move(words)).finish(); }
  // Submits a script; the job's id. Its output is the file "job-ID".
  std::string submit(const std::vector<std::string>& options, const std::string& script);

 private:
  void begin(int nodes, int cpus);
  void start_daemon(std::size_t host, const std::string& name, const std::string& options);
  std::string nodes_text(int nodes, int cpus) const;
  void write_configuration(const std::string& nodes);
  void cancel_all();
  bool wait_until_idle();

  Sandbox& sandbox_;
  PrivateHosts* hosts_ = nullptr;  // nullptr: all nodes are this machine
  int first_port_ = 0;
  int nodes_ = 0;
  bool up_ = false;
  std::vector<std::unique_ptr<Process>> daemons_;
};

// A Slurm on loopback that the tests of a suite share: each finds it idle, and its sandbox as it
// was for the first one.
class WithSlurm : public testing::Test {
 public:
  static void TearDownTestSuite() { shared_.reset(); }

 protected:
  WithSlurm(int nodes, int cpus) : sandbox_(shared().sandbox), nodes_(nodes), cpus_(cpus) {}
  void SetUp() override;
  void TearDown() override;

  Sandbox& sandbox_;
  PrivateSlurm* slurm_ = nullptr;

 private:
  struct Shared {
    Sandbox sandbox;
    std::unique_ptr<PrivateSlurm> slurm;
  };
  static Shared& shared() {
    if (shared_ == nullptr) shared_ = std::make_unique<Shared>();
    return *shared_;
  }
  static inline std::unique_ptr<Shared> shared_;
  int nodes_;
  int cpus_;
};

}  // namespace holon::system_test
