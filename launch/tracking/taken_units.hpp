// taken_units.hpp - ends what a child instance runs on units that are taken from it by force, and
// the message that asks for it.
//
// The processes of a child's jobs are known by their lineage, and what they were given by their
// variables (docs/environment.md), or by the CPUs that they are bound to. So nothing is asked of
// the child, which is out of reach.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "launch/node.hpp"
#include "transport/codec/fields.hpp"

namespace holon::launch {
namespace msg {

// Units of one node.
struct NodeUnits {
  std::string node;         // its name in the instance
  std::string cores, gpus;  // idsets
  HOLON_FIELDS(node, cores, gpus)
};
// "agent.take" (broker to agent): sends SIGKILL to all that jobs of this child instance run on
// these units, and tells how many processes that were. Nothing is left once two answers in a row
// tell of none.
struct TakeRequest {
  std::uint64_t job = 0;  // the child
  std::vector<NodeUnits> nodes;
  bool bind = true;  // false: a declared shape, cores are only numbers
  HOLON_FIELDS(job, nodes, bind)
};
struct TakeReply {
  std::uint64_t found = 0;
  HOLON_FIELDS(found)
};

}  // namespace msg

// Parsed.
struct TakenUnits {
  struct OfNode {
    std::string node;
    Idset cores, gpus;
  };
  std::uint64_t job = 0;
  std::vector<OfNode> nodes;
  bool bind = true;
};
// Errors: invalid_argument (no idset).
Result<TakenUnits> taken_units(const msg::TakeRequest& request);

// Has a task with these variables one of the units? A task of which the node is not told is on any.
bool has_taken_unit(const TakenUnits& taken, const std::string& nodelist,
                    const std::string& node_index, const std::string& cores,
                    const std::string& gpus);

// Sends SIGKILL to the processes of the child's jobs that have one of the units, or are bound to
// one of the cores; returns how many there were, with those that cannot be judged yet, since they
// are just becoming another program, and may be there by their session's leader and ancestors.
// `prefix`: of the instance's jobs (tracking/lineage.hpp). Errors: invalid_argument (cores that the
// node lacks). O(processes).
Result<std::size_t> end_on_taken_units(const Node& node, const std::string& prefix,
                                       const TakenUnits& taken);

}  // namespace holon::launch
