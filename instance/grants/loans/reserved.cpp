#include "instance/grants/loans/reserved.hpp"

#include <utility>

#include "instance/grants/units.hpp"

namespace holon::instance {

std::vector<ReservedUnits> reserved_of(const qmanager::Scheduler& scheduler,
                                       const resource::ResourceGraph& graph,
                                       const holdings::Units& units, Interval when, JobId but) {
  std::vector<ReservedUnits> reserved;
  for (const auto& advance : scheduler.advances()) {
    const auto& request = advance.request;
    if (request.resources.id == but || request.when.begin >= when.end ||
        request.when.end <= when.begin)
      continue;
    const auto its = units_of(graph, advance.allocation);
    if (!its) continue;
    if (auto some = common(*its, units); !some.empty())
      reserved.push_back({request.resources.id, request.when.end, std::move(some)});
  }
  return reserved;
}

}  // namespace holon::instance
