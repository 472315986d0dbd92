// leftovers.hpp - finds and ends what is left of an instance's jobs, or of an earlier run of all of
// it.
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
    bool of_instance = false;  // its brokers, agents and programs are included
    std::string cgroup = "";   // processes in this cgroup and below it, too; "": there is none
    // Includes processes without a lineage that still write to a file `output/...` at or below this
    // directory; "": none.
    std::string state_dir = "";
    // Includes children of this process without a lineage that are of another session: tasks have
    // left them to it.
    bool adopted = false;
    // Called at each look: these processes are spared, and those below them.
    std::function<std::vector<pid_t>()> spare = [] { return std::vector<pid_t>(); };
  };

  explicit Leftovers(What what);

  // Looks once and sends SIGKILL to the processes it finds, never to this process or its ancestors.
  // True: nothing is left. One look may miss a process that is started meanwhile, so that two looks
  // in a row have to find nothing.
  bool end();
  // One of the processes last found, for messages: "process 12".
  const std::string& example() const { return example_; }

 private:
  enum class Is { ours, somebody_elses, not_clear };
  Is look_at(const ProcessStat& process, pid_t session);
  bool writes_output(pid_t pid) const;
  Is unless_spared(pid_t pid);
  bool look();

  What what_;
  std::vector<pid_t> come_from_;
  std::map<pid_t, std::uint64_t> judged_;  // others' processes: number and start
  std::map<pid_t, int> doubts_;            // looks that told nothing
  std::vector<pid_t> spared_;              // at this look
  std::map<pid_t, pid_t> parents_;         // as of this look
  std::string example_;
  int clear_looks_ = 0;
};

}  // namespace holon::launch
