// find.hpp - which vertices of a store an expression means, in the order in which they are written.
#pragma once
#include <string>
#include <vector>

#include "base/time.hpp"
#include "resource/find/find_expression.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {

class ResourceStore;

struct FoundVertex {
  struct Use {
    std::string type;
    Amount used = 0;
    Amount total = 0;
  };
  VertexId vertex;
  bool matches = false;         // false: it is here because something below it matches
  std::vector<Use> aggregates;  // with agfilter=true: amounts counted below it, by type name
};

// All vertices the expression is true for, and those above them; children before their parent.
// Aggregates are those at `now`, or those of the job the expression names. O(V * tests + what is
// held).
std::vector<FoundVertex> find_vertices(const ResourceStore& store, const FindExpression& expression,
                                       Time now);

}  // namespace holon::resource
