// array_service.hpp - the requests about arrays (msg/instance.hpp).
#pragma once
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class ArrayService {
 public:
  ArrayService(const JobManager& jobs, SlicedWork& portions, AfterCommit& after_commit)
      : jobs_(jobs), sliced_work_(portions), after_commit_(after_commit) {}

  // "job.tasks"
  void tasks(const transport::Request& request) const;

 private:
  void answer(const transport::Request& request, const ArrayShape& shape,
              const Idset& numbers) const;

  const JobManager& jobs_;
  SlicedWork& sliced_work_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
