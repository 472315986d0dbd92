// leftovers.hpp - what is left of an instance's jobs, or of an earlier run of all of it: found and
// ended.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launch/tracking/process.hpp"

namespace holon::launch {

class Leftovers {
 public:
  struct What {
    std::string prefix = "";   // jobs_prefix() of the instance
    bool of_instance = false;  // its brokers, agents and programs, too
    std::string cgroup = "";   // processes in this cgroup and below it, too; "": there is none
    // Processes that have no lineage any more and still write to a file `output/...` at or below
    // this directory, too; "": none.
    std::string state_dir = "";
    // Children of this process that have no lineage any more and are of another session, too: tasks
    // have left them to it.
    bool adopted = false;
    // Asked at each look: these processes stay, and what is below them.
    std::function<std::vector<pid_t>()> spare = [] { return std::vector<pid_t>(); };
  };

  explicit Leftovers(What what);

  // Looks once and sends SIGKILL to the processes it finds, never to this process or its ancestors.
  // True: nothing is left. One look may miss a process that is started meanwhile, so that two looks
  // in a row have to find nothing.
  bool end();
  // One of the processes found last, for messages: "process 12".
  const std::string& example() const { return example_; }

 private:
  enum class Is { ours, somebody_elses, not_clear };
  Is look_at(const ProcessStat& process, pid_t session);
  bool writes_output(pid_t pid) const;
  Is unless_spared(pid_t pid);
  bool look();

  What what_;
  std::vector<pid_t> come_from_;
  std::map<pid_t, std::uint64_t> judged_;  // somebody else's: number and start
  std::map<pid_t, int> doubts_;            // looks that said nothing
  std::vector<pid_t> spared_;              // by this look
  std::map<pid_t, pid_t> parents_;         // as this look sees them
  std::string example_;
  int clear_looks_ = 0;
};

}  // namespace holon::launch
