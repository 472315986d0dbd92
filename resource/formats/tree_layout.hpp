// tree_layout.hpp - puts the rows of a GraphSpec in an order that build() takes; private to this
// folder.
#pragma once
#include <vector>

#include "base/result.hpp"
#include "resource/graph/spec.hpp"

namespace holon::resource {

// Puts rows, whose parents may stand behind them and whose root may be any row, in pre-order of the
// dominant tree, with other subsystems after it; rows in a right order are untouched. `tree` has
// the edges of the tree in the order in which children are visited. Errors: invalid_argument (no
// root, a cycle).
Result<GraphSpec> to_tree_order(GraphSpec spec, const std::vector<GraphSpec::Edge>& tree);

}  // namespace holon::resource
