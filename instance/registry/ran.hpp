// ran.hpp - what an instance that is over has run, as its journal has it beside the records of its
// jobs (tree/dead_child.hpp): on which machine, and what the tasks of its arrays did, of which
// these records have sums alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// The machine that it had last.
struct PastMachine {
  std::int64_t nodes = 0, cores = 0;  // 0: not known
};

// REQUIRES of both: no instance runs on the state directory. Errors: invalid_argument (a damaged
// journal, or one that does not say it).
Result<PastMachine> past_machine(const std::string& state_dir);

// Records of all tasks of an array of the instance at `path`, those that wait among them, in the
// order of their numbers. None: it is no array, or has more than `most` of them. O(tasks).
Result<std::vector<msg::JobRecord>> past_tasks(const std::string& state_dir,
                                               const std::string& path, std::uint64_t array,
                                               std::uint64_t most);

}  // namespace holon::instance
