// trying.hpp - one job is tried on the machine: does it start, is it reserved for? Private to
// qmanager/.
#pragma once
#include "qmanager/engine/walk/deciding.hpp"

namespace holon::qmanager {

enum class Tried { started, reserved, not_now, gone };

// Which limits a job is held to: beyond the soft ones it may only take what is left over.
enum class Bound { soft, hard };

// The request of a job with a range of slots, with no more slots than its limits leave it.
JobRequest within_limits(Parts<const Queues, const Accounts> s, const Job& job, Time now,
                         Bound bound);

class Trying {
 public:
  using TriedParts = Parts<const SchedulerConfig, Jobs, Plan, const Queues, const Accounts>;

  Trying(TriedParts s, Time now, Deciding& deciding) : s_(s), now_(now), deciding_(deciding) {}

  // Starts now, or not at all; `not_now` also if its shape has failed since something was freed.
  Tried start(Job& job, Bound bound = Bound::soft);
  // Holds the earliest start that fits, now among others. REQUIRES: the job has no reservation.
  Tried reserve(Job& job, Time not_before);
  // Puts the reservations of the entitled into the plan, before anything is started that could be
  // in their way.
  void reserve_for_the_entitled();

 private:
  TriedParts s_;
  Time now_;
  Deciding& deciding_;
};

}  // namespace holon::qmanager
