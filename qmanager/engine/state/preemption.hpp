// preemption.hpp - jobs that may be preempted, and those that wait for the places of others.
// Private to qmanager/.
#pragma once
#include <set>
#include <vector>

#include "base/shared.hpp"
#include "base/strong.hpp"

namespace holon::qmanager {

// A job that waits for the places of others, which were told to end (pass/preempt.cpp).
struct Claim {
  JobId job;
  std::vector<JobId> victims;  // the victims that have not ended
};

struct Preemption {
  bool active = false;  // some queue's jobs may take the places of others
  // Running jobs that may be preempted and were not told to end; empty if no queue preempts.
  Shared<std::set<JobId>> candidates;
  std::vector<Claim> claims;  // oldest first

  // The job's claim; nullptr: it waits for no job's place.
  const Claim* of(JobId job) const {
    for (const Claim& claim : claims)
      if (claim.job == job) return &claim;
    return nullptr;
  }
  void no_candidate(JobId job) {
    if (candidates->contains(job)) candidates.edit().erase(job);
  }
};

}  // namespace holon::qmanager
