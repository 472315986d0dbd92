// tracking.hpp - which processes belong to a job, so that it can be told when the
// last one is gone, and which they are.
//
// With a cgroup of its own for each job that is exact: nothing leaves a cgroup. Without a cgroup, a
// process that a task leaves behind becomes the agent's child when its parent ends (the agent is a
// subreaper). It is known by its lineage; if it has thrown its environment away, by its session,
// which a task leads; if it has made a session of its own, by the CPUs it is bound to, or by the
// job's file that it still writes to. A process with nothing of all that is ended when no other job
// is left that it could belong to.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/node.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class ProcessTracking;

// An empty cgroup, used by one job after the other: to make one costs more than to start a process
// in it.
struct JobCgroup {
  std::string dir;
  transport::UniqueFd handle, events;
  bool was_killed = false;  // some kernels kill whatever is started in it from then on
  bool is_bounded = false;  // in memory: what it has counted is this job's
};

// Of one job.
class JobProcesses {
 public:
  ~JobProcesses();
  JobProcesses(const JobProcesses&) = delete;
  JobProcesses& operator=(const JobProcesses&) = delete;

  // The cgroup that the job's tasks are to be started in; -1: the agent's.
  int cgroup() const { return cgroup_ && !outside_ ? cgroup_->handle.get() : -1; }
  // The kernel did not start a task there, with this errno. Later ones are started outside.
  void cannot_start_there(int error);
  // `cpus`: those the task is bound to; nullptr: none of its own.
  void started(pid_t task, const CpuMask* cpus);
  void ended(pid_t task);
  // The job's tasks write to this file.
  void writes(const std::string& file);
  // The kernel keeps the job to so much memory from now on. False: it does not.
  bool bound_memory(std::int64_t bytes);
  // It was kept to it, and has needed more.
  bool ran_out_of_memory() const;
  // In bytes, of one that is kept to a bound; 0: not known.
  std::int64_t memory_peak() const;
  // All that are known to be the job's, beside these tasks: what they have started, and left
  // behind.
  std::vector<pid_t> processes(const std::vector<pid_t>& tasks) const;
  // Sends SIGKILL to what is left of the job. True: nothing is. REQUIRES: no task runs.
  bool clear();

 private:
  friend class ProcessTracking;
  JobProcesses(ProcessTracking& all, std::uint64_t job, std::unique_ptr<JobCgroup> cgroup)
      : all_(all), job_(job), cgroup_(std::move(cgroup)), outside_(!cgroup_) {}

  ProcessTracking& all_;
  std::uint64_t job_;
  std::unique_ptr<JobCgroup> cgroup_;
  bool outside_;                 // some task of it is, or will be, in no cgroup of its own
  bool is_found_empty_ = false;  // the cgroup was, and nothing was started in it since
};

// Of all jobs of one agent; outlives them.
class ProcessTracking {
 public:
  // `lineage`: of the instance's own processes. `cgroup`: a directory that is there, for the jobs'
  // below it; "": jobs get none.
  ProcessTracking(const std::string& lineage, std::string cgroup);
  ProcessTracking(const ProcessTracking&) = delete;
  ProcessTracking& operator=(const ProcessTracking&) = delete;

  std::unique_ptr<JobProcesses> track(std::uint64_t job);
  // A child of the agent that is part of no job and is to be left alone; until it has ended.
  void spare(pid_t helper) { spared_.insert(helper); }
  void spare_no_more(pid_t helper) { spared_.erase(helper); }
  // A child of the agent that was no task was reaped.
  void reaped(pid_t stranger);
  // Sends SIGKILL to strangers that belong to no job that is tracked. True: there were none.
  bool clear_strays();
  // Why jobs get no cgroups though one was given; "": they do.
  const std::string& trouble() const { return trouble_; }

 private:
  friend class JobProcesses;
  struct Task {
    std::uint64_t job = 0;
    bool is_running = true;
    CpuMask cpus;  // empty: not bound
  };
  struct Owner {
    bool is_settled = true;            // false: look again
    std::optional<std::uint64_t> job;  // nullopt: it cannot be told
  };

  std::unique_ptr<JobCgroup> take_cgroup();
  void give_back(std::unique_ptr<JobCgroup> cgroup);
  void no_cgroups(std::string why);
  bool clear_strangers_of(std::uint64_t job);
  std::vector<pid_t> strangers_of(std::uint64_t job);
  std::vector<pid_t> strangers() const;
  Owner owner_of(pid_t stranger);
  std::optional<std::uint64_t> owner_by_cpus(pid_t stranger) const;
  std::optional<std::uint64_t> owner_by_output(pid_t stranger) const;

  std::string prefix_, dir_, trouble_;
  bool bounds_memory_ = false;  // cgroups of jobs may have bounds
  std::uint64_t made_ = 0;
  std::vector<std::unique_ptr<JobCgroup>> free_;
  std::map<std::uint64_t, int> jobs_;  // those that are tracked
  std::map<pid_t, Task> tasks_;  // of these jobs; a number stays theirs while its session lives
  std::set<pid_t> spared_;
  // Files, and which of these jobs write there.
  std::multimap<std::string, std::uint64_t> outputs_;
  std::map<pid_t, int> doubts_;  // strangers that have shown neither command nor environment
  std::map<pid_t, std::uint64_t> known_;  // strangers, until they are reaped: whose they are
};

}  // namespace holon::launch
