// division.hpp - resources in equal parts, for the children of an instance (--tree).
//
// Where there are as many nodes as parts, each part is whole nodes, and their numbers differ by one
// at most. Else parts are cores of nodes, and their numbers differ by one at most: as many parts as
// there is room for have cores of one node only, and the others take what is left on several. The
// GPUs of a node go to the parts on it in proportion to their cores, but for parts of several nodes
// that could not be asked for as equal slots then: these have none. The memory of a node goes to
// the parts on it alone likewise. Every core is in one part, and so is every GPU and unit of memory
// of a node with a part that may have it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "instance/shape/tree_shape.hpp"
#include "resource/allocation.hpp"

namespace holon::resource {
class ResourceGraph;
}

namespace holon::instance {

// What a node has. Memory is in units of the graph, GiB as a rule.
struct NodeAmounts {
  std::string host;
  resource::Amount cores = 0, gpus = 0, memory = 0;
  bool operator==(const NodeAmounts&) const = default;
};

// A part of one node.
struct Share {
  std::size_t node = 0;  // its place among the nodes
  resource::Amount cores = 0, gpus = 0, memory = 0;
  bool operator==(const Share&) const = default;
};

struct Slice {
  std::vector<Share> shares;  // by their nodes, ascending; one at least
  bool whole = false;         // each share is all of its node
};

// A part of several nodes as equal slots, which may lie anywhere; count 0: its shares are not made
// of equal ones.
struct Slots {
  std::int64_t count = 0;
  resource::Amount cores = 0, gpus = 0;  // of each
};
Slots slots_of(const Slice& slice);

// The nodes of a graph that have cores, in the order of the graph. O(vertices).
std::vector<NodeAmounts> nodes_in(const resource::ResourceGraph& graph);

// Divides the nodes. Parts of one node come first. Errors: out_of_range (fewer cores than parts;
// the message has both). REQUIRES: parts > 0. O(parts + nodes).
Result<std::vector<Slice>> divide(const std::vector<NodeAmounts>& nodes, std::uint32_t parts);

// The nodes of the instance that has this part.
std::vector<NodeAmounts> nodes_of_slice(const std::vector<NodeAmounts>& nodes, const Slice& part);

// Can instances of this shape divide these nodes, down to the leaves? Errors: out_of_range, with
// the numbers. O(leaves of the shape + nodes * its levels).
Status check_division(const std::vector<NodeAmounts>& nodes, const TreeShape& shape);

}  // namespace holon::instance
