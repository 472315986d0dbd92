// private_grid_engine.hpp - a real Grid Engine for one test: the hosts n1, n2, ... of a
// PrivateHosts run its jobs, "login" has its master, and all of its state is in the sandbox.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {

class PrivateGridEngine {
 public:
  // Why there can be none here: GTEST_SKIP() << that. "": there can.
  static std::string missing();

  // A queue "all.q" of so many slots on each host, with the parallel environment "mpi". The
  // sandbox's environment gets SGE_ROOT and others; hosts and sandbox must outlive it.
  PrivateGridEngine(Sandbox& sandbox, PrivateHosts& hosts, int slots);
  // Deletes what runs, and ends the daemons.
  ~PrivateGridEngine();
  PrivateGridEngine(const PrivateGridEngine&) = delete;
  PrivateGridEngine& operator=(const PrivateGridEngine&) = delete;

  // Are all hosts there? Otherwise the test has failed.
  bool up() const { return up_; }
  // A program of Grid Engine's, on "login".
  Ran run(std::vector<std::string> words) { return hosts_.run(0, std::move(words)); }
  // Submits a script of so many slots; the job's number. Its output is the file "job-NUMBER".
  std::string submit(int slots, const std::string& script);
  // Deletes what waits or runs, and returns when none is left.
  void delete_all();
  // Is a job left, waiting, running, or about to end?
  bool has_jobs() { return !run({"qstat", "-u", "*"}).out.empty(); }
  // What Grid Engine says of its jobs and queues, for a test that has waited in vain.
  std::string jobs() { return run({"qstat", "-f", "-u", "*"}).out + run({"qstat", "-j", "*"}).out; }

 private:
  void make_cell();
  void start_daemon(std::size_t host, const std::string& name);
  bool configure(int slots);
  std::string root() const { return sandbox_.folder() + "/sge"; }

  Sandbox& sandbox_;
  PrivateHosts& hosts_;
  bool up_ = false;
  std::vector<std::unique_ptr<Process>> daemons_;
};

}  // namespace holon::system_test
