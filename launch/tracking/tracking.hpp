// tracking.hpp - which processes belong to a job, so that the end of the last one is noticed.
//
// With a cgroup of its own for each job that is exact: nothing leaves a cgroup. Without a cgroup, a
// process that a task leaves behind becomes the agent's child when its parent ends (the agent is a
// subreaper). It is known by its lineage; if it has thrown its environment away, by its session,
// which a task leads; if it has made a session of its own, by the CPUs it is bound to, or by the
// job's file that it still writes to. A process with none of these is ended when no other job is
// left that it could belong to.
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

// An empty cgroup, used by one job after the other: making one costs more than starting a process
// in it.
struct JobCgroup {
  std::string dir;
  transport::UniqueFd handle, events;
  bool was_killed = false;  // some kernels kill whatever is started in it from then on
  bool is_bounded = false;  // in memory: its counters are those of this job
};

// The processes of one job.
class JobProcesses {
 public:
  ~JobProcesses();
  JobProcesses(const JobProcesses&) = delete;
  JobProcesses& operator=(const JobProcesses&) = delete;

  // The cgroup in which the job's tasks are to be started; -1: the agent's.
  int cgroup() const { return cgroup_ && !outside_ ? cgroup_->handle.get() : -1; }
  // The kernel did not start a task there, with this errno. Later tasks are started outside.
  void cannot_start_there(int error);
  // `cpus`: CPUs that the task is bound to; nullptr: not bound by itself.
  void started(pid_t task, const CpuMask* cpus);
  void ended(pid_t task);
  // The job's tasks write to this file.
  void writes(const std::string& file);
  // Has the kernel bound the job's memory from now on. False: it cannot.
  bool bound_memory(std::int64_t bytes);
  // Was the job bounded, and has it needed more?
  bool ran_out_of_memory() const;
  // The peak of a bounded job, in bytes; 0: not known.
  std::int64_t memory_peak() const;
  // All processes known to be the job's, beside these tasks: those that tasks have started, or left
  // behind.
  std::vector<pid_t> processes(const std::vector<pid_t>& tasks) const;
  // Sends SIGKILL to what is left of the job. True: nothing is left. REQUIRES: no task runs.
  bool clear();

 private:
  friend class ProcessTracking;
  JobProcesses(ProcessTracking& all, std::uint64_t job, std::unique_ptr<JobCgroup> cgroup)
      : all_(all), job_(job), cgroup_(std::move(cgroup)), outside_(!cgroup_) {}

  ProcessTracking& all_;
  std::uint64_t job_;
  std::unique_ptr<JobCgroup> cgroup_;
  bool outside_;                 // some task is, or will be, in no cgroup of the job's own
  bool is_found_empty_ = false;  // the cgroup was empty, and nothing was started in it since
};

// The processes of all jobs of one agent; outlives them.
class ProcessTracking {
 public:
  // `lineage`: of the instance's own processes. `cgroup`: an existing directory, for the jobs'
  // cgroups below it; "": jobs get none.
  ProcessTracking(const std::string& lineage, std::string cgroup);
  ProcessTracking(const ProcessTracking&) = delete;
  ProcessTracking& operator=(const ProcessTracking&) = delete;

  std::unique_ptr<JobProcesses> track(std::uint64_t job);
  // A child of the agent that is part of no job is spared until it has ended.
  void spare(pid_t helper) { spared_.insert(helper); }
  void spare_no_more(pid_t helper) { spared_.erase(helper); }
  // A child of the agent that was no task has been reaped.
  void reaped(pid_t stranger);
  // Sends SIGKILL to strangers that belong to no tracked job. True: there were none.
  bool clear_strays();
  // Why jobs get no cgroups although one was given; "": they do.
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
    std::optional<std::uint64_t> job;  // nullopt: unknown
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
  std::map<std::uint64_t, int> jobs_;  // tracked jobs
  std::map<pid_t, Task> tasks_;  // of these jobs; a number stays theirs while its session lives
  std::set<pid_t> spared_;
  // Files, and the jobs that write to them.
  std::multimap<std::string, std::uint64_t> outputs_;
  std::map<pid_t, int> doubts_;           // strangers that show neither command nor environment yet
  std::map<pid_t, std::uint64_t> known_;  // strangers and their jobs, until they are reaped
};

}  // namespace holon::launch
