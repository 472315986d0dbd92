// left.hpp - what an instance that is over has left in its state directory.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::instance {

// Jobs in its journal that are not over, each task of an array counted: the next start on the state
// directory goes on with them. 0 where there is no journal. O(batches). Errors: invalid_argument (a
// damaged journal), system. REQUIRES: no instance runs on it.
Result<std::int64_t> jobs_left(const std::string& state_dir);

// Bytes that its files take on the disk. Links are not followed. O(files).
std::int64_t bytes_on_disk(const std::string& state_dir);

// When its instance wrote something for the last time; 0: there is nothing of one. Ms since the
// epoch.
Time last_used(const std::string& state_dir);

// Removes the state directory. Errors: busy (an instance runs on it), denied (more is in the folder
// than what an instance keeps there, which is named), system.
Status remove_state_dir(const std::string& state_dir);

}  // namespace holon::instance
