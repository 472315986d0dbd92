// host_placement.hpp - which cores of which hosts a job of a parallel environment gets.
#pragma once
#include <optional>

#include "base/result.hpp"
#include "qmanager/request.hpp"
#include "resource/allocation.hpp"
#include "resource/store.hpp"

namespace holon::qmanager {

// Can the job be placed slot by slot? Errors: invalid_argument for a jobspec whose slots are not of
// cores alone, or are not at the top.
Status check_host_placement(const JobRequest& job);

// Could it be placed with every host that is here, or that is up, idle? REQUIRES:
// check_host_placement.
bool could_be_spread(const resource::ResourceStore& store, const JobRequest& job, bool only_up);

// The largest number of slots that suits the job, as its rule spreads them over the hosts that have
// cores free over the whole of `when`, hosts in the order of the graph. Holds nothing. nullopt: not
// even the smallest number can be placed. REQUIRES: check_host_placement. O(vertices).
std::optional<resource::Allocation> place_on_hosts(const resource::ResourceStore& store,
                                                   const JobRequest& job, Interval when);

}  // namespace holon::qmanager
