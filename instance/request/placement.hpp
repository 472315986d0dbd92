// placement.hpp - an Allocation as people and agents need it: hosts, cores and GPUs by node, and
// the node of each task.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "instance/request/submission.hpp"
#include "qmanager/engine/schedule_text.hpp"
#include "resource/allocation.hpp"

namespace holon::resource {
class ResourceGraph;
}

namespace holon::instance {

struct PlacedTask {
  std::int64_t rank = 0;                  // within the job
  std::vector<std::int64_t> cores, gpus;  // the task's own; empty: all of the job's on the node
  bool operator==(const PlacedTask&) const = default;
};

struct PlacedNode {
  std::int32_t rank = -1;  // execution target; -1: the resources stand on no node
  std::string host;
  std::vector<std::int64_t> cores, gpus;  // logical numbers on the node, ascending
  std::vector<PlacedTask> tasks;
  bool operator==(const PlacedNode&) const = default;
};

// Nodes in the order of their ranks, without tasks. A vertex held exclusively counts with
// everything below it.
std::vector<PlacedNode> nodes_of(const resource::ResourceGraph& graph,
                                 const resource::Allocation& allocation);

// The slots of a job's tasks, if it asks for plain ones: cores and GPUs of each, and how many are
// on each of the nodes it asks for, some of which may have one less; 0: anywhere.
struct SlotShape {
  std::int64_t cores = 0, gpus = 0;  // both 0: another form, whose tasks are placed by cores
  std::int64_t on_each = 0;
};
SlotShape slot_shape(const Submission& submission);

// Puts tasks where the job has slots, the same number into each slot, in order; without a shape
// each task gets an equal part of the job's cores, and a job without cores spreads its tasks over
// its nodes evenly. The tasks of a node share its cores evenly. GPUs are dealt out if a node has at
// least one for each of its tasks. `distribution` says which ranks a node's tasks have, not how
// many tasks it has.
void place_tasks(std::vector<PlacedNode>& nodes, std::int64_t ntasks,
                 Distribution distribution = Distribution::block, const SlotShape& shape = {});

// How many tasks each node has.
std::vector<std::uint32_t> tasks_by_node(const std::vector<PlacedNode>& nodes);

// The places of the nodes that place_tasks() would give tasks to, ascending.
std::vector<std::size_t> nodes_with_tasks(const std::vector<PlacedNode>& nodes, std::int64_t ntasks,
                                          const SlotShape& shape = {});

struct Summary {
  std::string nodelist;  // hostlist (RFC 29)
  Totals held;
};
Summary summarize(const std::vector<PlacedNode>& nodes);
Summary summarize(const resource::ResourceGraph& graph, const resource::Allocation& allocation);

// By host, in the order of ranks: its cores as slots, and units of everything else on it that has
// nothing below. Without resources that are on no node.
std::vector<qmanager::HostUse> host_uses(const resource::ResourceGraph& graph,
                                         const resource::Allocation& allocation);

struct NodeLists {
  // Hostlists; a node with any unit held is allocated, a drained one is not free.
  std::string free, allocated, down;
};
// `held`: hosts with a job on them.
NodeLists node_lists(const resource::ResourceGraph& graph, const std::set<std::string>& held);

// {0,1,2,5} -> "0-2,5" (RFC 22).
std::string idset_text(const std::vector<std::int64_t>& ids);

}  // namespace holon::instance
