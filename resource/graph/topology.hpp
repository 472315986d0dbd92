// topology.hpp - the edges of a ResourceGraph as Boost graphs; vertex descriptors are VertexId
// values.
//
// Two graphs over one set of vertices: the tree of the dominant subsystem as compressed rows (8
// bytes a vertex and edge; an adjacency_list takes 80, and a heap block for each edge), rebuilt on
// the rare change of shape; and, where there are any, all edges of the other subsystems with the
// number of their subsystem. Vertex data stands outside (ResourceGraph::operator[]), as an exterior
// property. Include this only where a Boost algorithm is run.
#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace holon::resource {

struct Topology {
  struct AuxProperty {
    std::uint32_t subsystem = 0;
  };
  using Tree =
      boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                         boost::no_property, std::uint32_t, std::uint32_t>;
  using Aux = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, AuxProperty>;
  using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // parent, child

  Topology() = default;
  Topology(const Topology& other) : tree(other.tree) {
    // Edge by edge: the copy that Boost makes sets off g++'s -Wmaybe-uninitialized.
    if (!other.aux) return;
    aux.emplace(boost::num_vertices(*other.aux));
    for (auto [e, end] = boost::edges(*other.aux); e != end; ++e) {
      boost::add_edge(source(*e, *other.aux), target(*e, *other.aux), (*other.aux)[*e], *aux);
    }
  }
  Topology& operator=(const Topology&) = delete;

  // The tree has `vertices` slots and these edges; a vertex's children keep their order.
  void set_tree(std::size_t vertices, const Edges& edges) {
    tree = Tree(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(),
                static_cast<std::uint32_t>(vertices));
  }

  Tree tree;               // edges in the order children are visited
  std::optional<Aux> aux;  // none: there is only the dominant subsystem
};

}  // namespace holon::resource
