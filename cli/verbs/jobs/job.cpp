// holon job: a table of its own: info, eventlog, wait, output.
#include <array>

#include "cli/options/help.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"

namespace holon::cli {
namespace {

constexpr auto kJobVerbs = std::to_array<Verb>({
    {"info", "everything kept about a job", Group::look, verb_job_info},
    {"eventlog", "what happened to a job, and when", Group::look, verb_job_eventlog},
    {"wait", "wait until jobs are over", Group::look, verb_job_wait},
    {"output", "what a job wrote", Group::look, verb_job_output},
});

}  // namespace

int verb_job(Invocation& call) {
  return run_group({"job",
                    "look at a job, wait for it, read its output",
                    kJobVerbs,
                    {{"holon job info 7", "everything about job 7"},
                     {"holon job wait --all", "until nothing is left to do"}}},
                   call);
}

}  // namespace holon::cli
