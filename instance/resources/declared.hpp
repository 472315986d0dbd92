// declared.hpp - whether an instance that goes on has resources that were declared at an earlier
// start, told before it begins.
#pragma once
#include <string>

namespace holon::instance {

// Does the journal in `state_dir` have declared resources, which are kept unless others are named?
// false: it has those of a machine, or there is no journal, or none that can be read.
bool keeps_declared(const std::string& state_dir);

}  // namespace holon::instance
