// array_service.hpp - the requests about arrays (msg/instance.hpp).
#pragma once
#include "instance/job/manager.hpp"
#include "instance/journal/after_commit.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class ArrayService {
 public:
  ArrayService(const JobManager& jobs, AfterCommit& after_commit)
      : jobs_(jobs), after_commit_(after_commit) {}

  // "job.tasks"
  void tasks(const transport::Request& request) const;

 private:
  const JobManager& jobs_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
