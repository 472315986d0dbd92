// ancestry.hpp - does a process belong to a job? By the kernel's table of processes, not by the
// process's own word.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "instance/job/job.hpp"

namespace holon::instance {

// Is `pid` one of the living `ancestors`, or their child, grandchild and so on? A process that
// outlives its parent is the child of another process.
bool descends_from(std::int64_t pid, const std::vector<event::Process>& ancestors);

// descends_from(), or its substitute where processes are not the kernel's (world/).
using BelongsTo = std::function<bool(std::int64_t pid, const std::vector<event::Process>&)>;

}  // namespace holon::instance
