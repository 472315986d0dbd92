// deciding.hpp - the decisions of one pass, in their order, and what each changes in the state.
// Private to qmanager/.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// The parts that a decision or its reason needs. Advance reservations decide within.
using DecidingParts = Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts,
                            const Advances, Preemption>;

class Deciding {
 public:
  // `tells_waits`: Wait decisions are wanted too.
  Deciding(DecidingParts s, Time now, bool tells_waits)
      : s_(s), now_(now), tells_waits_(tells_waits) {}

  // start() and reserve() REQUIRE that the machine holds it for the job.
  void start(Job& job, resource::Allocation allocation);
  void reserve(Job& job, Interval when);
  void reject(Job& job, std::string reason);
  // The running job is to end by `end` at the latest, so that `for_job` can start; in the plan it
  // ends at `planned`.
  void preempt(Job& victim, const Job& for_job, Time end, Time planned);
  // The job waits outside of its queue until resources change.
  void stand_aside(Job& job, Why why);
  // Tells why the job waits, unless that was told last.
  void tell_why(Job& job, Why why, JobId because_of = {});
  void tell_shortage(Job& job, const Walk& walk);
  // Adds a decision of the scheduler within an advance reservation.
  void pass_on(Decision decision) { decisions_.push_back(std::move(decision)); }

  bool has_started() const { return has_started_; }
  std::vector<Decision> take() { return std::move(decisions_); }

 private:
  DecidingParts s_;
  Time now_;
  bool tells_waits_;
  bool has_started_ = false;  // some job
  std::vector<Decision> decisions_;
};

}  // namespace holon::qmanager
