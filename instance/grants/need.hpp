// need.hpp - what an instance lacks: with how many cores more its waiting jobs would start.
//
// The scheduler itself is asked (Scheduler::starts_on), so that the policy of the instance, its
// limits and its reservations decide.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "instance/manager/manager.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"

namespace holon::instance {

// The most cores in one ask.
inline constexpr std::int64_t kMostCoresAtOnce = 1'024;

// What waiting jobs would use beside what is here.
struct Need {
  std::int64_t least = 0, most = 0;  // cores: with which one more job starts, and all that can
  Duration limit = 0;                // ms, the longest of these jobs; 0: one has none
  std::string hosts{};               // on which they would start; "": on any that are here
  bool is_wished = false;            // by a person: one of these jobs is an ask made by hand
};

// The jobspec of an ask for this; `by_itself`: nobody has asked for it.
std::string jobspec_of_ask(const Need& need, bool by_itself);

// Tells needs; each is found anew.
class Needs {
 public:
  Needs(const resource::ResourceStore& store, const qmanager::Scheduler& scheduler,
        const JobManager& jobs)
      : store_(store), scheduler_(scheduler), jobs_(jobs) {}

  // The need of all jobs together that `room` cores more would let start. O(log room) passes of the
  // scheduler.
  Need of_all(std::int64_t room, Time now) const;
  // The need of this job alone, at its place in the queue; `least` is 0 if `room` cores more would
  // not let it start. O(log room) passes.
  Need of_job(JobId job, std::int64_t room, Time now) const;

 private:
  using Starts = qmanager::Scheduler::StartsByHost;
  Starts with(std::int64_t cores, Time now) const;
  template <class Enough>
  std::int64_t fewest(std::int64_t most, Time now, const Enough& enough) const;
  Duration limit_of(const std::set<JobId>& jobs) const;

  const resource::ResourceStore& store_;
  const qmanager::Scheduler& scheduler_;
  const JobManager& jobs_;
};

}  // namespace holon::instance
