// tree.hpp - `holon doctor --tree`: do the journals of a tree of instances agree about grants?
#pragma once
#include <string>

#include "cli/verb.hpp"

namespace holon::cli {

// `where`: a state directory, the path of an instance of the running tree ("/3": that and what is
// below it), or "": the tree that is running. Returns the exit code: kFailed where an invariant is
// broken or a journal cannot be read.
int look_at_tree(Invocation& call, const std::string& where, bool json);

}  // namespace holon::cli
