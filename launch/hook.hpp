// hook.hpp - a line for the shell that runs on a node before or after the tasks of each job: an
// instance's prolog and epilog (job.prolog, job.epilog).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "launch/tasks/processes.hpp"
#include "launch/tracking/tracking.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

class Hook {
 public:
  struct What {
    std::string name;              // "prolog"
    std::string line;              // for /bin/sh -c, unless there is an `argv`
    Duration timeout = 60'000;     // ms after which the line is killed
    std::vector<std::string> env;  // the job's
    std::string cwd;               // "/" if it cannot be entered
    std::string user;              // the user it runs as; "": as this process
    std::vector<std::string> argv = {};
    std::string bound = "job.hook-timeout";  // what `timeout` is called
    int in = -1;                             // its standard input; -1: /dev/null
    int line_to_us = -1;                     // becomes kWireUpDescriptor; -1: nothing
  };
  struct Outcome {
    std::string trouble;  // why it failed; "": it did not
    bool has_exited =
        false;            // by itself, with whatever exit code: it had started, and had the time
    bool denied = false;  // as msg::Finished::denied: it could not be started
  };
  // Runs in the job's cgroup and counts as one of its processes. `done` is called once, never from
  // in here, and not once this object is gone.
  Hook(transport::Reactor& reactor, Processes& processes, JobProcesses& job, What what,
       std::function<void(const Outcome&)> done);
  ~Hook();  // SIGKILL for what still runs
  Hook(const Hook&) = delete;
  const msg::ProcessId& process() const { return process_; }  // of the started process; 0: none
  Hook& operator=(const Hook&) = delete;

 private:
  void begin();
  void ended(int status);
  void tell(const std::string& trouble, bool has_exited = false, bool denied = false);

  transport::Reactor& reactor_;
  Processes& processes_;
  JobProcesses& job_;
  What what_;
  std::function<void(const Outcome&)> done_;
  pid_t pid_ = 0;
  msg::ProcessId process_;
  bool was_killed_ = false;
  transport::Subscription exit_, timer_, telling_;
};

}  // namespace holon::launch
