// await_tree.hpp - waits until a tree that `holon start --tree` plants is up, down to its leaves.
#pragma once
#include <string>

#include "cli/connect.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

// Returns once all leaves of this shape below the instance at `uri` answer, and says on io.err how
// long that took since the instance began, and from time to time what is still missing. Children
// that had ended for good before are said, and not waited for. A child that ends meanwhile, or a
// signal that ends this process, ends the instance, unless its children go on from an earlier run.
// Errors: system (a child that has ended: which, and why), those of the connection.
Status await_tree(Invocation& call, const std::string& uri, const std::string& shape);

}  // namespace holon::cli
