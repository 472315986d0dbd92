// watchers.hpp - clients that wait for jobs: "job.wait", and the event streams of "job.watch".
#pragma once
#include <map>
#include <set>
#include <vector>

#include "instance/after_commit.hpp"
#include "instance/job_manager.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Watchers {
 public:
  Watchers(const JobManager& jobs, const Journal& journal, AfterCommit& after_commit)
      : jobs_(jobs), journal_(journal), after_commit_(after_commit) {}

  void wait(const transport::Request& request);
  void watch(const transport::Request& request);

  void happened(JobId job, const Event& event);
  void ended(JobId job);
  // The instance ends: what still waits is told so.
  void close(const Error& why);

 private:
  struct Wait {
    transport::Request request;
    std::vector<JobId> asked;
    std::set<JobId> left;
  };
  struct Watch {
    transport::Request request;
    std::set<JobId> left;
    bool all = false;
  };
  void answer(const Wait& wait);
  void send(const Watch& watch, JobId job, const Event& event);
  Status replay(Watch& watch, JobId job);

  const JobManager& jobs_;
  const Journal& journal_;
  AfterCommit& after_commit_;
  std::vector<Wait> waits_;
  std::vector<Watch> watches_;
};

}  // namespace holon::instance
