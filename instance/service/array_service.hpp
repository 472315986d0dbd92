// array_service.hpp - the requests about arrays (msg/instance.hpp).
#pragma once
#include "instance/basics/portions.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class ArrayService {
 public:
  ArrayService(const JobManager& jobs, Portions& portions, AfterCommit& after_commit)
      : jobs_(jobs), portions_(portions), after_commit_(after_commit) {}

  // "job.tasks"
  void tasks(const transport::Request& request) const;

 private:
  void answer(const transport::Request& request, const ArrayShape& shape,
              const Idset& numbers) const;

  const JobManager& jobs_;
  Portions& portions_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
