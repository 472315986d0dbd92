// own_children.hpp - the processes that are children of this one.
#pragma once
#include <sys/types.h>

#include <vector>

namespace holon::starter {

// One that is started meanwhile may be missing: look again until waitpid(2) knows of none.
std::vector<pid_t> own_children();

}  // namespace holon::starter
