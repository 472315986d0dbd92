// declared.hpp - whether an instance that continues has resources that were declared at an earlier
// start, found out before it begins.
#pragma once
#include <string>

namespace holon::instance {

// Does the journal in `state_dir` have declared resources, which are kept unless others are named?
// False: it has those of a machine, there is no journal, or it cannot be read.
bool keeps_declared(const std::string& state_dir);

}  // namespace holon::instance
