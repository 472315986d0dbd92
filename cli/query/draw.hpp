// draw.hpp - the resource graph as a file for other programs: Graphviz dot or GraphML.
#pragma once
#include <string>
#include <string_view>

namespace holon::resource {
class ResourceGraph;
}

namespace holon::cli::query {

// Writes "dot" or "graphml" (`format`). Vertices are named by pre-order position. O(V + E).
std::string draw_graph(const resource::ResourceGraph& graph, std::string_view format);

}  // namespace holon::cli::query
