// need.hpp - what an instance lacks: with how many cores, or whole nodes, more its waiting jobs
// would start.
//
// The scheduler itself is asked (Scheduler::starts_on), so that the policy of the instance, its
// limits and its reservations decide.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "instance/grants/nodes_above.hpp"
#include "instance/manager/manager.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"

namespace holon::instance {

// The most in one ask.
inline constexpr std::int64_t kMostCoresAtOnce = 1'024;
inline constexpr std::int64_t kMostNodesAtOnce = 256;

// What waiting jobs would use beside what is here.
struct Need {
  std::int64_t least = 0, most = 0;  // cores: with which one more job starts, and all that can
  Duration limit = 0;                // ms, the longest of these jobs; 0: one has none
  std::string hosts{};               // on which they would start; "": on any that are here
  // So many whole nodes instead, which the instance does not have; 0: cores of those that it has.
  std::int64_t nodes = 0;
  std::int64_t most_cores = 0;  // that may come with these nodes; 0: any number
  bool is_wished = false;       // by a person: one of these jobs is an ask made by hand
};

// The jobspec of an ask for this; `by_itself`: nobody has asked for it.
std::string jobspec_of_ask(const Need& need, bool by_itself);

// Tells needs; each is found anew.
class Needs {
 public:
  Needs(const resource::ResourceStore& store, const qmanager::Scheduler& scheduler,
        const JobManager& jobs, const GrantedNodes& granted, const NodesAbove& nodes)
      : store_(store), scheduler_(scheduler), jobs_(jobs), granted_(granted), nodes_(nodes) {}

  // The need of all jobs together that `room` cores more would let start. O(log room) passes of the
  // scheduler.
  Need of_all(std::int64_t room, Time now) const;
  // The need of this job alone, at its place in the queue; `least` is 0 if `room` cores more would
  // not let it start. O(log room) passes.
  Need of_job(JobId job, std::int64_t room, Time now) const;
  // The fewest whole nodes, of `room` cores together, with which one more job starts; with which
  // this one does. Nodes like those that may come are reckoned with. O(log room) passes.
  Need of_one_on_nodes(std::int64_t room, Time now) const;
  Need of_job_on_nodes(JobId job, std::int64_t room, Time now) const;

 private:
  using Starts = qmanager::Scheduler::StartsByHost;
  Starts with(std::int64_t cores, Time now) const;
  template <class Enough>
  Need on_nodes(std::int64_t room, Time now, const Enough& enough) const;
  Duration limit_of(const std::set<JobId>& jobs) const;
  bool is_wished(const std::set<JobId>& jobs) const;

  const resource::ResourceStore& store_;
  const qmanager::Scheduler& scheduler_;
  const JobManager& jobs_;
  const GrantedNodes& granted_;
  const NodesAbove& nodes_;
};

}  // namespace holon::instance
