// holon job: a table of its own: info, eventlog, wait, status, output, attach.
#include <array>

#include "cli/parser/help.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"

namespace holon::cli {
namespace {

constexpr auto kJobVerbs = std::to_array<Verb>({
    {"info", "everything kept about a job", Group::look, verb_job_info},
    {"eventlog", "what happened to a job, and when", Group::look, verb_job_eventlog},
    {"wait", "wait until jobs are over", Group::look, verb_job_wait},
    {"status", "wait until jobs are over, and exit as they did", Group::look, verb_job_status},
    {"output", "what a job wrote", Group::look, verb_job_output},
    {"attach", "a job's output as it comes, then its exit code", Group::look, verb_job_attach},
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
