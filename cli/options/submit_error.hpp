// submit_error.hpp - what an instance says against a job, in the words of whoever typed it.
#pragma once
#include "base/result.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {

// The error with the option and value that caused it ("--dependency afterok:9") in place of the
// instance's place in the jobspec ("/attributes/system/dependencies/0"). Errors about other places
// come back as they are.
Error as_typed(Error error, const JobOptions& options);

}  // namespace holon::cli
