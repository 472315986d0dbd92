// topology.hpp - the edges of a ResourceGraph as Boost graphs; vertex descriptors are VertexId
// values.
//
// Two graphs over one set of vertices: the tree of the dominant subsystem, whose vertices cost 24
// bytes and an edge 8, and, where there are any, all edges of the other subsystems with the number
// of their subsystem. Vertex data stands outside (ResourceGraph::operator[]), as an exterior
// property. Include this only where a Boost algorithm is run.
#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <optional>

namespace holon::resource {

struct Topology {
  struct AuxProperty {
    std::uint32_t subsystem = 0;
  };
  using Tree = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  using Aux = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, AuxProperty>;

  Topology() = default;
  // `vertices` slots without edges.
  explicit Topology(std::size_t vertices) : tree(vertices) {}
  // Edge by edge: the copy that Boost makes sets off g++'s -Wmaybe-uninitialized.
  Topology(const Topology& other) : Topology(boost::num_vertices(other.tree)) {
    for (Tree::vertex_descriptor v = 0; v < boost::num_vertices(other.tree); ++v) {
      for (auto [e, end] = boost::out_edges(v, other.tree); e != end; ++e) {
        boost::add_edge(v, target(*e, other.tree), tree);
      }
    }
    if (!other.aux) return;
    aux.emplace(boost::num_vertices(*other.aux));
    for (auto [e, end] = boost::edges(*other.aux); e != end; ++e) {
      boost::add_edge(source(*e, *other.aux), target(*e, *other.aux), (*other.aux)[*e], *aux);
    }
  }
  Topology& operator=(const Topology&) = delete;

  Tree tree;               // edges in the order children are visited
  std::optional<Aux> aux;  // none: there is only the dominant subsystem
};

}  // namespace holon::resource
