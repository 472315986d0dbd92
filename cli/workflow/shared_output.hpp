// shared_output.hpp - several jobs of one submission do not write into one file.
#pragma once
#include <cstdint>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {

// Do --output and --error give each of the `count` jobs, or of the tasks of an array, a file of its
// own? Each begins its file anew: of those that share one only the last one's would be left.
// Errors: invalid_argument, with names that would do.
Status check_job_files(const JobOptions& job, std::int64_t count);

}  // namespace holon::cli
