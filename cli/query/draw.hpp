// draw.hpp - the resource graph as a file for other programs: Graphviz dot or GraphML.
#pragma once
#include <string>
#include <string_view>

namespace holon::resource {
class ResourceGraph;
}

namespace holon::cli::query {

// `format` is "dot" or "graphml". Vertices are named by their position in pre-order. O(V + E).
std::string draw_graph(const resource::ResourceGraph& graph, std::string_view format);

}  // namespace holon::cli::query
