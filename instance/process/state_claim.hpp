// state_claim.hpp - a state directory serves one running instance at a time, and is one instance
// for ever: the identity of the instance outlives its processes, and its journal.
//
// `lock` in the directory is locked for as long as the supervisor lives; `instance.id` has the
// identity (instance_id.hpp). A directory that is removed while the instance runs
// is made again, with its mark in `instance.lineage`: the processes of the instance bear that
// mark, and the next start has to know them by it.
#pragma once
#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

struct StateClaim {
  std::string id;
  std::string mark;    // for the lineage of its processes; a copy of the directory has another one
  bool is_new = true;  // the id was made just now: nothing can be left of an earlier run
  transport::UniqueFd lock;

  // REQUIRES: the directory is there. Errors: busy (an instance runs on it), system.
  static Result<StateClaim> take(const std::string& dir);
  // Was the directory, or the lock in it, removed since?
  bool is_lost(const std::string& dir) const;
  // Makes the directory, the lock, the id and the mark again, as far as they are missing. Errors:
  // busy (another instance has claimed it meanwhile), system.
  Status take_again(const std::string& dir);
};

}  // namespace holon::instance
