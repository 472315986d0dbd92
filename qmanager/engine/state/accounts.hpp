// accounts.hpp - what is counted for limits, fairshare and priorities. Private to qmanager/.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/shared.hpp"
#include "qmanager/job.hpp"
#include "qmanager/policy/hooks.hpp"
#include "qmanager/site/fairshare.hpp"
#include "qmanager/site/limits.hpp"

namespace holon::qmanager {

struct Accounts {
  Shared<Limiter> limiter;
  bool has_limits = false;  // Limiter::active()
  Shared<Fairshare> fairshare;
  bool counts_usage = false;             // fairshare plays a part
  bool counts_bypass = false;            // so does how often a job was passed by others
  bool ages = false;                     // priorities change as time passes
  bool limits_stop_aging = false;        // whether waiting earns priority depends on limits
  std::optional<Time> aged;              // when priorities were computed last
  std::map<std::string, UserUse> users;  // running use by user, when Plan::version was users_at
  std::uint64_t users_at = 0;

  // Counts for fairshare that the job runs, here or in an advance reservation, or that it ends.
  void job_runs(const Job& job) {
    if (counts_usage) fairshare.edit().started(job.request, job.procs, job.started);
  }
  void job_ends(const Job& job, Time now) {
    if (!counts_usage) return;
    fairshare.edit().advance(now);
    fairshare.edit().ended(job.request, job.procs);
  }
};

}  // namespace holon::qmanager
