// no_array.hpp - the error for a request that names a job where only an array is accepted.
#pragma once
#include <fmt/core.h>

#include <string>

#include "msg/instance.hpp"
#include "msg/job_filter.hpp"

namespace holon::instance {

// A task of an array is a likely slip: the text names its array.
inline std::string about_no_array(const msg::JobRecord& job) {
  if (job.array == 0)
    return fmt::format("job {} is no array: it has no tasks with indices", job.path);
  return fmt::format("job {} is a task of array {}; accepted is the id of the array",
                     msg::shown_path(job), job.array);
}

}  // namespace holon::instance
