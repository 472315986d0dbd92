// admission.hpp - refuses new submissions although their jobspec is sound: for names that are slips
// of the finger, or that the submitter may not use. Not checked again when a journal is read.
#pragma once
#include <string>

#include "instance/request/submission.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

// The owner of the jobs, and the group that they count for; "": none.
struct Submitter {
  std::string user, group;
};

// Errors: denied (a QOS or an account that this user's jobs may not have, with those they may),
// not_found (a licence or a QOS that is not configured, with those that are), invalid_argument (an
// empty command, a name that is too long, a {{WORD}} in a file's name that stands for nothing).
Status check_new(const Submission& submission, const Submitter& who,
                 const qmanager::SchedulerConfig& config);

}  // namespace holon::instance
