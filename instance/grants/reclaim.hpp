// reclaim.hpp - what children have got by themselves goes to who waits for it: first to whatever
// somebody has submitted here, then to a child that has less beyond its own.
//
// Whether it would help is asked of this instance's scheduler, as if the grants were over
// (Scheduler::starts_without). Nothing is ended: a grant that is asked back comes when the child's
// jobs there are over. What has been given for less than grant.hold stays.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/grants/lender.hpp"
#include "instance/manager/manager.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class Reclaim {
 public:
  struct Uses {
    const config::Config& config;
    const resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    const JobManager& jobs;
    Lender& lender;
  };
  explicit Reclaim(Uses uses) : uses_(uses) {}

  // Call before the commit, before the lender's turn, which asks back what is taken. Returns when
  // the next turn is needed. O(grants), and at most each second some dozen passes of the scheduler.
  std::optional<Time> turn(Time now);

 private:
  // A grant that a child has got by itself, and has had for longer than grant.hold.
  struct Given {
    JobId grant, child;
    Time since = 0;
    std::int64_t cores = 0;
    std::vector<std::string> hosts{};
  };
  // What a child asks for by itself, and waits for.
  struct Wanted {
    JobId ask, child;
  };
  struct Standing {
    std::vector<Given> given{};        // youngest first
    std::vector<JobId> coming_back{};  // grants of all kinds
    std::vector<Wanted> asks{};
    std::map<JobId, std::int64_t> extra{};  // cores that stay with a child beyond its own
    std::optional<Time> next{};             // one more will have been held for long enough
  };
  using Starts = qmanager::Scheduler::HostsByJob;

  Standing standing(Time now) const;
  bool take_for_jobs(Standing& at, Time now);
  std::vector<JobId> jobs_that_wait_for_it(const Standing& at, Time now) const;
  bool take_for_a_child(Standing& at, Time now);
  bool take_for(JobId taker, const std::vector<JobId>& over, std::vector<Given> given, Standing& at,
                const std::string& why, Time now);
  std::vector<Given> given_by_better_off(const Standing& at, JobId taker) const;
  Starts starts_without(std::vector<JobId> over, const std::vector<Given>& given, Time now) const;
  std::vector<Given> fewest(JobId taker, const std::vector<JobId>& over, std::vector<Given> given,
                            Time now) const;
  void take(const std::vector<Given>& given, Standing& at, const std::string& why, Time now);

  const Uses uses_;
  Time not_before_ = 0;  // the next look
};

}  // namespace holon::instance
