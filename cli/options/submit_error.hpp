// submit_error.hpp - what an instance says against a job, in the words of whoever typed it.
#pragma once
#include "base/result.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {

// An instance names the place in the jobspec ("/attributes/system/dependencies/0"); what comes back
// names the option that put it there, with its value ("--dependency afterok:9"). Errors about other
// places come back as they are.
Error as_typed(Error error, const JobOptions& options);

}  // namespace holon::cli
