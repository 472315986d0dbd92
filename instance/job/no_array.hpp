// no_array.hpp - the errors for a request that names a job where only an array is accepted, or an
// array where only one instance is.
#pragma once
#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"
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

// Where one instance can be meant.
inline Error about_array_of_instances(const std::string& path, std::uint64_t id) {
  return {Errc::not_found,
          fmt::format("job {} is an array of instances; {}.3 is the one with index 3", path, id),
          {}};
}

}  // namespace holon::instance
