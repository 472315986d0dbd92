// state_claim.hpp - a state directory serves one running instance at a time, and is one instance
// for ever: who it is outlives its processes, and its journal.
//
// `lock` in the directory is locked for as long as the supervisor lives; who it is says
// `instance.id` (instance_id.hpp).
#pragma once
#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

struct StateClaim {
  std::string mark;    // for the lineage of its processes; a copy of the directory has another one
  bool is_new = true;  // the id was made just now: nothing can be left of an earlier run
  transport::UniqueFd lock;

  // REQUIRES: the directory is there. Errors: busy (an instance runs on it), system.
  static Result<StateClaim> take(const std::string& dir);
};

}  // namespace holon::instance
