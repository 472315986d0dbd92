// host_pools.hpp - consumables of a queue, of which each host has so many (Grid Engine's
// complex_values and slots of a queue instance), and who holds how much of them on which host when.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "qmanager/request.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::qmanager {

// How many of a job's slots are on a host, by the name of the host; the first is its master.
using HostSlots = std::vector<std::pair<std::string, std::int64_t>>;

class HostPools {
 public:
  // `each`: by the name under which jobs hold it ("license@batch"), so many on each host.
  void define(std::map<std::string, resource::Amount> each) { each_ = std::move(each); }
  const std::map<std::string, resource::Amount>& each() const { return each_; }

  // Slots that an idle host has room for; INT64_MAX: these consumables set no bound.
  std::int64_t slots_at_most(const std::vector<Consumes>& uses) const;
  // The job's need that no host ever meets: "asks for 3 lic a slot, and each node has 2 for the
  // jobs of queue batch"; else that there are too few hosts for its slots.
  std::string too_much(const std::vector<Consumes>& uses) const;
  // Slots for which the host has enough of the consumables counted per slot, beside what other jobs
  // hold over `when`.
  std::int64_t slots_on(const std::string& host, const std::vector<Consumes>& uses,
                        Interval when) const;
  // Has the host the consumables that the job uses once, on its first host?
  bool may_be_first(const std::string& host, const std::vector<Consumes>& uses,
                    Interval when) const;

  // Is there room for so many slots on each of these hosts?
  bool fits(const std::vector<Consumes>& uses, const HostSlots& slots, Interval when) const;
  // REQUIRES: there is room for the job.
  void hold(JobId job, const std::vector<Consumes>& uses, const HostSlots& slots, Interval when);
  // Does nothing for a job that holds nothing.
  void release(JobId job);
  // Errors: overcommitted.
  Status check_end(JobId job, Time end) const;
  void set_end(JobId job, Time end);
  // By name and host: "license@batch@node0".
  std::map<std::string, resource::Amount> held_by(JobId job) const;
  // Holds over `when`, for a job that goes on past its end, the part of `wanted` (names as of
  // held_by()) that no other job holds, and returns the rest. Other consumables are left out.
  std::map<std::string, resource::Amount> hold_what_is_left(
      JobId job, const std::map<std::string, resource::Amount>& wanted, Interval when);
  void check_invariants() const;

 private:
  using Place = std::pair<std::string, std::string>;  // pool, host
  struct Held {
    Interval when;
    std::map<Place, resource::Amount> amounts;
  };

  resource::Amount free(const Place& place, Interval when) const;
  void hold(JobId job, std::map<Place, resource::Amount> amounts, Interval when);

  std::map<std::string, resource::Amount> each_;
  std::map<Place, resource::Timeline> used_;
  std::unordered_map<JobId, Held> held_;
};

}  // namespace holon::qmanager
