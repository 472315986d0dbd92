// constraint.hpp - RFC 31 constraints, compiled against one graph.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "base/result.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource::match {

// The test of every node that a search comes by, so names are looked up once. Only "node" and
// "storage_node" vertices are tested; others always pass.
class NodeTest {
 public:
  // A test that everything passes.
  NodeTest() = default;
  // Errors: invalid_argument for a hostlist or rank list that cannot be read.
  static Result<NodeTest> compile(const Constraint& constraint, const ResourceGraph& graph);

  bool trivial() const { return terms_.empty(); }
  bool passes(const ResourceGraph& graph, VertexId node) const {
    return terms_.empty() || passes(graph, node, 0);
  }

 private:
  enum class Kind { always, properties, hosts, ranks, all, any, none };
  struct Property {
    NameId key;
    bool known = false;  // some vertex has or had it
    bool wanted = true;  // false: ^property
  };
  struct Term {
    Kind kind = Kind::always;
    std::vector<Property> properties;
    Hostlist hosts;
    std::unordered_set<std::string> spelled;  // the same, if they are many single names
    Idset ranks;
    std::vector<std::uint32_t> operands;
  };

  Result<std::uint32_t> add(const Constraint& constraint, const ResourceGraph& graph);
  bool passes(const ResourceGraph& graph, VertexId node, std::uint32_t term) const;
  static bool has(const ResourceGraph& graph, VertexId node, const Property& property);

  std::vector<Term> terms_;  // [0] is the whole constraint
};

}  // namespace holon::resource::match
