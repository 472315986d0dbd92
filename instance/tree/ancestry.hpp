// ancestry.hpp - does a process belong to a job? By the kernel's table of processes, not by what it
// says.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "instance/job/job.hpp"

namespace holon::instance {

// Is `pid` one of the `ancestors`, or their child, grandchild and so on, of those that live? A
// process that outlives its parent is the child of somebody else.
bool descends_from(std::int64_t pid, const std::vector<event::Process>& ancestors);

// That, or what stands in for it where processes are not the kernel's (world/).
using BelongsTo = std::function<bool(std::int64_t pid, const std::vector<event::Process>&)>;

}  // namespace holon::instance
