// in_order.hpp - a simulation of a queue that is served strictly in order, written without the
// engine: what a policy that only orders jobs is compared with.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sim/simulate.hpp"

namespace holon::policy {

// First come, first served, in the order of a key that never changes: written without the engine.
inline std::vector<std::optional<Time>> in_order(const sim::Workload& workload,
                                                 std::int64_t (*key)(const sim::TraceJob&)) {
  std::vector<std::optional<Time>> starts(workload.jobs.size());
  std::multimap<Time, std::int64_t> ends;  // processors
  std::set<std::tuple<std::int64_t, Time, std::size_t>> waiting;
  std::int64_t free = workload.max_procs;
  std::size_t next = 0;
  while (next < workload.jobs.size() || !waiting.empty()) {
    Time now = kTimeMax;
    if (next < workload.jobs.size()) now = workload.jobs[next].submit;
    if (!ends.empty()) now = std::min(now, ends.begin()->first);
    for (; !ends.empty() && ends.begin()->first <= now; ends.erase(ends.begin()))
      free += ends.begin()->second;
    for (; next < workload.jobs.size() && workload.jobs[next].submit <= now; ++next)
      waiting.emplace(key(workload.jobs[next]), workload.jobs[next].submit, next);
    while (!waiting.empty()) {
      const std::size_t first = std::get<2>(*waiting.begin());
      const sim::TraceJob& job = workload.jobs[first];
      if (job.procs > free) break;
      free -= job.procs;
      starts[first] = now;
      ends.emplace(now + job.run, job.procs);
      waiting.erase(waiting.begin());
    }
  }
  return starts;
}

}  // namespace holon::policy
