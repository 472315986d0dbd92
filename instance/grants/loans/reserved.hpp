// reserved.hpp - the units that advance reservations hold: they are no jobs, and stand in the way
// of what is lent and what comes back.
#pragma once
#include <vector>

#include "holdings/holding.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {

struct ReservedUnits {
  JobId reservation;
  Time end = 0;
  holdings::Units units;  // of those asked about
};
// The reservations that hold some of these units at some time of `when`, by number, without `but`.
// O(what all reservations hold).
std::vector<ReservedUnits> reserved_of(const qmanager::Scheduler& scheduler,
                                       const resource::ResourceGraph& graph,
                                       const holdings::Units& units, Interval when, JobId but = {});

}  // namespace holon::instance
