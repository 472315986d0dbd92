// demand.hpp - what a job asks for beside processors, as limits and priorities count it.
#pragma once
#include <cstdint>

#include "qmanager/request.hpp"

namespace holon::qmanager {

class Machine;

// The resources a job asks for (the smallest count of each range) or, once it runs, those it got.
// Amounts are in the units of the graph's vertices ("memory", "swap", "disk").
struct Demand {
  std::int64_t nodes = 1;  // that the request names, at least 1; on a flat machine each processor
                           // is a node
  std::int64_t memory = 0;
  std::int64_t swap = 0;
  std::int64_t disk = 0;
  // Maui's processor equivalents: the largest share of the machine that the job takes, of its
  // processors, memory, swap or disk, times the machine's processors.
  double equivalents = 1;

  // This demand with `procs` processors in place of `before`.
  Demand grown(std::int64_t procs, std::int64_t before) const;
  bool operator==(const Demand&) const = default;
};

// O(requests in the jobspec).
Demand demand_of(const JobRequest& job, std::int64_t procs, const Machine& machine);

}  // namespace holon::qmanager
