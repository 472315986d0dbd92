// holon job wait: returns when jobs are over, with an exit code that says whether all went well.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/job_tracker.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

struct JobWaitArgs {
  std::vector<std::string> jobs;
  bool all = false;
  bool json = false;
  bool quiet = false;
  bool progress = false;
};

bool went_well(const msg::JobRecord& job) {
  return job.result == "COMPLETED";
}

// The job's name in messages. Numbers count within one instance only.
std::string name_of(const Invocation& call, const msg::JobRecord& job) {
  return call.instance.empty() || job.path.empty() ? msg::label_of(job) : msg::shown_path(job);
}

// Shows the progress, or returns at once if that is not wanted.
Status show_on_the_way(Invocation& call, SelectedJobs& jobs, const JobWaitArgs& args) {
  if (!args.progress) return {};
  const auto cursor = cursor_of_now(jobs.client);
  if (!cursor) return tl::unexpected(cursor.error());
  if (args.all) {
    auto active = jobs.client.active_jobs();
    if (!active) return tl::unexpected(active.error());
    jobs.ids = std::move(*active);
  }
  const auto shown = show_progress(jobs.client, {jobs.ids, *cursor, !jobs.ids.empty()},
                                   ProgressLine(call.io, call.io.err, STDERR_FILENO));
  return shown ? Status() : tl::unexpected(shown.error());
}

// The number of this instance's jobs that are over and did not complete. A campaign whose first job
// fails before its script comes to wait has failed all the same.
Result<std::uint64_t> failed_before(Client& client) {
  msg::JobsRequest ended;
  ended.all = true;
  ended.filter.states = {"FAILED", "TIMEOUT", "CANCELED", "REJECTED"};
  const auto counts = client.count_jobs(ended);
  if (!counts) return tl::unexpected(counts.error());
  std::uint64_t failed = 0;
  for (const auto& count : *counts) failed += count.jobs;
  return failed;
}

}  // namespace

int verb_job_wait(Invocation& call) {
  JobWaitArgs args;
  Parser parser("job wait", "wait until jobs are over");
  parser
      .positional("ID", args.jobs,
                  "jobs to wait for: 7, 3-9, /3/7; 7.12 and 7.3-9 are tasks of an array")
      .group("Options")
      .flag("-a,--all", args.all, "until nothing waits or runs any more")
      .flag("--quiet", args.quiet, "do not say which ones failed")
      .flag("--progress", args.progress, "show how far they are, and failures as they come")
      .instance(call)
      .json(args.json)
      .note(
          "Exits with 0 when all completed with exit code 0, with 1 when one did not; with --all "
          "also when one that was over before did not; says which "
          "and why on standard error.")
      .example("holon job wait $(holon submit make) && echo done", "a job, and what comes after it")
      .example("holon job wait --all", "until nothing is left to do");
  if (const auto code = parser.parse(call)) return *code;
  if (args.all == !args.jobs.empty())
    return report(call, "job wait",
                  {Errc::invalid_argument, "name jobs, or give --all, one of the two", "ID"});
  auto jobs = connect_to_jobs(call, args.jobs);
  if (!jobs) return report(call, "job wait", jobs.error());
  if (auto shown = show_on_the_way(call, *jobs, args); !shown)
    return report(call, "job wait", shown.error());
  const bool all = args.all && !args.progress;  // those that were shown are known
  const auto reply = all ? jobs->client.wait_for_all() : jobs->client.wait({jobs->ids});
  if (!reply) return report(call, "job wait", reply.error());
  if (args.json) call.io.out << json_text(reply->jobs);
  for (const auto& job : reply->jobs)
    if (!went_well(job) && !args.quiet && !args.progress)
      call.io.err << fmt::format("holon job wait: job {} ({}): {}: {}\n", name_of(call, job),
                                 printable(job.name), msg::state_word(job),
                                 printable(details_of(job, instance::wall_clock_ms())));
  const bool went = std::all_of(reply->jobs.begin(), reply->jobs.end(), went_well);
  if (!all || !went) return went ? kOk : kFailed;
  const auto failed = failed_before(jobs->client);
  if (!failed) return report(call, "job wait", failed.error());
  if (*failed > 0 && !args.quiet)
    call.io.err << fmt::format(
        "holon job wait: {} that {} over before did not complete; `holon jobs -a` lists {}\n",
        *failed == 1 ? "1 job" : fmt::format("{} jobs", *failed), *failed == 1 ? "was" : "were",
        *failed == 1 ? "it" : "them");
  return *failed == 0 ? kOk : kFailed;
}

}  // namespace holon::cli
