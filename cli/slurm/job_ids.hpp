// job_ids.hpp - jobs as Slurm names them: "7", "7_3" and "7_[1-3,5]" for tasks of an array,
// "7.batch" and "7.0" for steps.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/paths.hpp"
#include "msg/instance.hpp"

namespace holon::cli::slurm {

// The jobs of a list: "7,8_3", also with brackets, in which commas are not between jobs. A step
// stands for its job. Errors: invalid_argument.
Result<std::vector<JobRef>> job_ids_in(const std::string& list);

// The name of a job: "7", or "7_3" of a task.
std::string job_id_of(const msg::JobRecord& job);

}  // namespace holon::cli::slurm
