// left.hpp - what an ended instance has left in its state directory.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::instance {

// How many jobs in its journal are not over, with each task of an array: the next start on the
// state directory continues them. 0 if there is no journal. O(batches). Errors: invalid_argument (a
// damaged journal), system. REQUIRES: no instance runs on it.
Result<std::int64_t> jobs_left(const std::string& state_dir);

// Bytes that the instance's files take on the disk. Links are not followed. O(files).
std::int64_t bytes_on_disk(const std::string& state_dir);

// When the instance last wrote something, in ms since the epoch; 0: the directory has nothing of an
// instance.
Time last_used(const std::string& state_dir);

// Removes the state directory. Errors: busy (an instance runs on it), denied (the folder has a file
// that no instance keeps, which is named), system.
Status remove_state_dir(const std::string& state_dir);

}  // namespace holon::instance
