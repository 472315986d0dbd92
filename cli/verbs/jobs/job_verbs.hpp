// job_verbs.hpp - the verbs of `holon job`.
#pragma once
#include "cli/verb.hpp"

namespace holon::cli {

int verb_job_info(Invocation& call);
int verb_job_eventlog(Invocation& call);
int verb_job_wait(Invocation& call);
int verb_job_output(Invocation& call);
int verb_job_attach(Invocation& call);
int verb_job_status(Invocation& call);

}  // namespace holon::cli
