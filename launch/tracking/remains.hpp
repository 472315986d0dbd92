// remains.hpp - what is left of an instance's jobs, or of an earlier run of all of it: found and
// ended.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launch/tasks/process.hpp"

namespace holon::launch {

class Remains {
 public:
  struct What {
    std::string prefix = "";   // jobs_prefix() of the instance
    bool of_instance = false;  // its brokers, agents and programs, too
    std::string cgroup = "";   // what is in it and below it, too; "": there is none
    // What has no lineage any more and still writes to a file `output/...` at or below this
    // directory; "": nothing.
    std::string state_dir = "";
    // Children of this process that have no lineage any more, and are not of its own session: they
    // are what tasks have left to it. Those in `spare` are not meant.
    bool adopted = false;
    std::vector<pid_t> spare = {};
  };

  explicit Remains(What what);

  // Looks once and sends SIGKILL to what it finds; never to this process or those it comes from.
  // True: nothing is left. One look may miss what is started during it, so that it takes two which
  // find nothing.
  bool end();
  // One of those found last, for messages: "process 12".
  const std::string& example() const { return example_; }

 private:
  enum class Is { ours, somebody_elses, not_clear };
  Is look_at(const ProcessStat& process, pid_t session);
  bool writes_output(pid_t pid) const;
  bool look();

  What what_;
  std::vector<pid_t> come_from_;
  std::map<pid_t, std::uint64_t> judged_;  // somebody else's: number and start
  std::map<pid_t, int> doubts_;            // looks that said nothing
  std::string example_;
  int clear_looks_ = 0;
};

}  // namespace holon::launch
