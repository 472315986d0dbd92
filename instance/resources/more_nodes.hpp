// more_nodes.hpp - nodes that do not exist, to ask a plan what it would do with them.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "instance/resources/resources.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"

namespace holon::instance {

// A node with these resources: "core=16,memory=64". Errors: invalid_argument.
Result<resource::GraphSpec> node_of_shape(const std::string& shape);
// A node like that of rank 0. Errors: unsupported (there is none).
Result<resource::GraphSpec> own_node(const resource::ResourceGraph& graph);
// What a node has, as such a shape: its cores, GPUs and memory.
std::string shape_of(const resource::ResourceGraph& graph, resource::VertexId node);
std::int64_t cores_in(const resource::GraphSpec& part);
// `count` nodes like the one of `node`, under names and ranks that no node has.
resource::GraphSpec many_like(const resource::GraphSpec& node, std::uint32_t count);

}  // namespace holon::instance
