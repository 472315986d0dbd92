// admission.hpp - what is refused of a new submission although its jobspec is sound: names that are
// slips of the finger. Not looked at again when a journal is read.
#pragma once
#include "instance/job/submission.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

// Errors: not_found (a licence or a QOS that nothing is configured for, with those there are),
// invalid_argument (an empty command, a name that is too long, a {{WORD}} in a file's name that
// stands for nothing).
Status check_new(const Submission& submission, const qmanager::SchedulerConfig& config);

}  // namespace holon::instance
