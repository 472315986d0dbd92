// host_placement.hpp - which cores of which hosts a job gets whose slots are placed host by host:
// in a parallel environment, or where its queue has consumables of each host.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "qmanager/machine/host_pools.hpp"
#include "qmanager/request.hpp"
#include "resource/allocation.hpp"
#include "resource/store.hpp"

namespace holon::qmanager {

struct HostPlacement {
  resource::Allocation allocation;
  HostSlots slots;
};

// Does a parallel environment say how its slots are spread?
bool spread_over_hosts(const JobRequest& job);
// The job gets what the matcher finds for its jobspec.
bool is_plain(const JobRequest& job);
// Slots on each node of a job that asks for nodes; else 1.
std::int64_t slots_a_node(const resource::Jobspec& spec);
// Why the job is not placed now.
std::string not_on_hosts(const JobRequest& job);

// Can the job be placed slot by slot? Errors: invalid_argument for a jobspec whose slots are not at
// the top, or are of anything but cores and units of what stands on hosts beside them.
Status check_host_placement(const JobRequest& job);

// Could the job be placed if every host that is here (`only_up`: that is up) were idle? REQUIRES:
// check_host_placement.
bool could_be_spread(const resource::ResourceStore& store, const HostPools& pools,
                     const JobRequest& job, bool only_up);

// The largest number of slots that suits the job, as its rule spreads them over the hosts that have
// room over the whole of `when`, hosts in the order of the graph. Holds nothing. nullopt: not even
// the smallest number can be placed. REQUIRES: check_host_placement. O(vertices).
std::optional<HostPlacement> place_on_hosts(const resource::ResourceStore& store,
                                            const HostPools& pools, const JobRequest& job,
                                            Interval when);

// How an allocation that was made otherwise divides the job's slots: by its cores.
HostSlots slots_by_host(const resource::ResourceGraph& graph,
                        const resource::Allocation& allocation, std::int64_t slots);

}  // namespace holon::qmanager
