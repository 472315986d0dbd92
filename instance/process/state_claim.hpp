// state_claim.hpp - a state directory serves one running instance at a time, and belongs to one
// instance for ever: the identity of the instance outlives its processes and its journal.
//
// `lock` in the directory is locked for as long as the supervisor lives; `instance.id` has the
// identity (instance_id.hpp). A directory that is removed while the instance runs is made again,
// with its mark in `instance.lineage`: the processes of the instance bear that mark, and the next
// start has to recognise them by it.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

// The running instance that a state directory belongs to, as the file `lock` in it says.
struct Holder {
  pid_t supervisor = 0;  // 0: not known
  std::string uri;       // of the broker; "": not known
};

// Has a live supervisor claimed it? Its broker may be dead, and about to be restarted.
bool is_claimed(const std::string& state_dir);

// The instance that is at work on this state directory; no address: there is none, or it is another
// user's.
Holder at_work_on(const std::string& state_dir);

struct StateClaim {
  std::string id;
  std::string mark;    // for the lineage of its processes; a copied directory has another
  bool is_new = true;  // the id was made just now: no earlier run can have left anything
  std::string uri;     // of the broker
  transport::UniqueFd lock;

  // `runtime_dir`: where the broker's socket is, for others that find the directory taken.
  // REQUIRES: the directory exists. Errors: busy (an instance runs on it), system.
  static Result<StateClaim> take(const std::string& dir, const std::string& runtime_dir);
  // Was the directory, or the lock in it, removed since?
  bool is_lost(const std::string& dir) const;
  // Makes the directory, the lock, the id and the mark again, if they are missing. Errors: busy
  // (another instance has claimed it meanwhile), system.
  Status take_again(const std::string& dir);
};

// Gives this process, and what it starts, the claim's lineage (launch/tracking/lineage.hpp), and
// returns it. A child instance has the lineage of its job, if the job has one.
std::string take_lineage(const StateClaim& claim, bool is_child);

}  // namespace holon::instance
