// admission.hpp - what is refused of a new submission although its jobspec is sound: names that are
// slips of the finger, and those that are not the submitter's to use. Not looked at again when a
// journal is read.
#pragma once
#include <string>

#include "instance/request/submission.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

// Whose jobs they are, and the group that they count for; "": none.
struct Submitter {
  std::string user, group;
};

// Errors: denied (a QOS or an account that is not for this user's jobs, with those that are),
// not_found (a licence or a QOS that nothing is configured for, with those there are),
// invalid_argument (an empty command, a name that is too long, a {{WORD}} in a file's name that
// stands for nothing).
Status check_new(const Submission& submission, const Submitter& who,
                 const qmanager::SchedulerConfig& config);

}  // namespace holon::instance
