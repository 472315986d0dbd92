// array_service.hpp - the requests about arrays (msg/instance.hpp), answered from the Core.
#pragma once
#include "instance/core.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class ArrayService {
 public:
  explicit ArrayService(Core& core) : core_(core) {}

  // "job.tasks"
  void tasks(const transport::Request& request) const;

 private:
  Core& core_;
};

}  // namespace holon::instance
