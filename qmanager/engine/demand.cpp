#include "qmanager/engine/demand.hpp"

#include <algorithm>

#include "qmanager/machine/machine.hpp"
#include "qmanager/machine/store_machine.hpp"

namespace holon::qmanager {

Demand Demand::grown(std::int64_t procs, std::int64_t before) const {
  Demand now = *this;
  for (std::int64_t* amount : {&now.memory, &now.swap, &now.disk})
    *amount = *amount / std::max<std::int64_t>(1, before) * procs;
  now.equivalents = equivalents / static_cast<double>(std::max<std::int64_t>(1, before)) *
                    static_cast<double>(procs);
  return now;
}

Demand demand_of(const JobRequest& job, std::int64_t procs, const Machine& machine) {
  Demand demand;
  demand.equivalents = static_cast<double>(procs);
  if (!job.spec) {
    demand.nodes = procs;
    return demand;
  }
  demand.nodes = std::max<std::int64_t>(1, least_units(*job.spec, "node"));
  const auto all = static_cast<double>(machine.procs());
  const auto ask = [&](const char* type) {
    const std::int64_t units = least_units(*job.spec, type);
    const auto total = static_cast<double>(units > 0 ? machine.total(type) : 0);
    if (total > 0)
      demand.equivalents = std::max(demand.equivalents, static_cast<double>(units) / total * all);
    return units;
  };
  demand.memory = ask("memory");
  demand.swap = ask("swap");
  demand.disk = ask("disk");
  return demand;
}

}  // namespace holon::qmanager
