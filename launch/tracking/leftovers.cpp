#include "launch/tracking/leftovers.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "launch/tracking/cgroup.hpp"
#include "launch/tracking/lineage.hpp"

namespace holon::launch {
namespace {

// Looks after which a process that never shows a command counts as having none, not as one that is
// just beginning.
constexpr int kDoubtsBeforeItCounts = 200;

}  // namespace

Leftovers::Leftovers(What what) : what_(std::move(what)) {
  for (pid_t pid = getpid(); pid > 1;) {
    come_from_.push_back(pid);
    const auto stat = stat_of(pid);
    pid = stat ? stat->parent : 0;
  }
}

bool Leftovers::end() {
  clear_looks_ = look() ? clear_looks_ + 1 : 0;
  return clear_looks_ >= 2;
}

bool Leftovers::look() {
  bool is_clear = true;
  if (!what_.cgroup.empty() && is_populated(what_.cgroup)) {
    kill_cgroup(what_.cgroup);
    example_ = "a process in " + what_.cgroup;
    is_clear = false;
  }
  const pid_t session = getsid(0);
  const auto processes = all_processes();
  spared_ = what_.spare();
  parents_.clear();
  if (!spared_.empty())
    for (const ProcessStat& process : processes) parents_[process.pid] = process.parent;
  for (const ProcessStat& process : processes) {
    const Is whose = look_at(process, session);
    if (whose == Is::somebody_elses) continue;
    if (whose == Is::ours) signal_process(process, SIGKILL);
    example_ = "process " + std::to_string(process.pid);
    is_clear = false;
  }
  return is_clear;
}

Leftovers::Is Leftovers::look_at(const ProcessStat& process, pid_t session) {
  if (process.is_over() || process.of_kernel) return Is::somebody_elses;
  if (std::find(come_from_.begin(), come_from_.end(), process.pid) != come_from_.end())
    return Is::somebody_elses;
  if (const auto known = judged_.find(process.pid);
      known != judged_.end() && known->second == process.start)
    return Is::somebody_elses;
  const auto lineage = variable_of(process, kLineage);
  if (!lineage && ++doubts_[process.pid] < kDoubtsBeforeItCounts) return Is::not_clear;
  if (!lineage) return Is::somebody_elses;
  if (what_.of_instance ? is_within(*lineage, what_.prefix)
                        : job_within(*lineage, what_.prefix).has_value())
    return unless_spared(process.pid);
  if (what_.adopted && lineage->empty() && process.parent == getpid() && process.session != session)
    return Is::ours;
  if (lineage->empty() && writes_output(process.pid)) return Is::ours;
  // Another process's child may still become this process's child.
  if (!what_.adopted) judged_[process.pid] = process.start;
  return Is::somebody_elses;
}

// A process whose parent ended while the list was read is now the child of another process.
Leftovers::Is Leftovers::unless_spared(pid_t pid) {
  if (spared_.empty()) return Is::ours;
  for (pid_t at = pid; at > 1 && at != getpid(); at = parents_.at(at)) {
    if (std::find(spared_.begin(), spared_.end(), at) != spared_.end()) return Is::somebody_elses;
    if (!parents_.contains(at) && ++doubts_[pid] < kDoubtsBeforeItCounts) return Is::not_clear;
    if (!parents_.contains(at)) return Is::ours;
  }
  return Is::ours;
}

bool Leftovers::writes_output(pid_t pid) const {
  if (what_.state_dir.empty()) return false;
  for (const char* descriptor : {"1", "2"}) {
    std::error_code none;
    const std::string file =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + descriptor, none);
    if (file.starts_with(what_.state_dir + "/") &&
        file.find("/output/", what_.state_dir.size()) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace holon::launch
