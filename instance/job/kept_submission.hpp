// kept_submission.hpp - a submission that a journal holds: it was accepted once, perhaps by an
// earlier version.
#pragma once
#include <string>

#include "instance/job/submission.hpp"

namespace holon::instance {

// As make_submission(), but for what versions before 5 of the journal have not looked at and
// make_submission() refuses: an unknown shell.options.taskmap is block, and attributes.system.files
// that are not accepted are no files. Errors: the other ones.
Result<Submission> kept_submission(const std::string& jobspec, bool is_instance);

}  // namespace holon::instance
