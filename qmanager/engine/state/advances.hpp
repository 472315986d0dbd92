// advances.hpp - the advance reservations, the jobs that run in them, and the jobs that use units
// which one holds. Private to qmanager/.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/shared.hpp"
#include "qmanager/machine/machine.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// An advance reservation and the scheduler of its jobs.
struct Advance {
  AdvanceRequest request;
  std::unique_ptr<Scheduler> inner;
  std::string environment;  // the environment that spreads its slots
  std::int64_t slots = 0;
  bool cancelled = false;
  std::vector<JobId> intruders;  // jobs that use units which the reservation holds

  bool over(Time now) const { return cancelled || now >= request.when.end; }
};

// A job that runs past its limit into an advance reservation, or an advance reservation that is
// over though jobs of it run. In the plan it has the units that nobody else has; the advance
// reservation does without the rest (pass/intrusion.cpp).
struct Intruder {
  Units uses;
  Interval when;  // since its start, until it is looked at again
};

struct Advances {
  std::map<JobId, Advance> all;
  Shared<std::unordered_map<JobId, JobId>> of_job;  // job -> the reservation it runs in
  std::map<JobId, Intruder> intruders;
  bool occupied = false;  // some advance reservation does without units of its own

  // The scheduler of the job's advance reservation; nullptr: the job is in no reservation.
  Scheduler* within(JobId job) const {
    const auto found = of_job->find(job);
    return found == of_job->end() ? nullptr : all.at(found->second).inner.get();
  }
};

}  // namespace holon::qmanager
