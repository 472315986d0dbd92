// holon job attach, holon job status: a job that was submitted becomes, for whoever waits, as one
// of holon run.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/wait_notice.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

int code_at_the_end(const msg::JobRecord& job) {
  return exit_code_of(job, 0);
}

Result<msg::JobRecord> ended_job(Client& client, std::uint64_t id) {
  auto ended = client.wait({{id}});
  if (!ended) return tl::unexpected(ended.error());
  if (ended->jobs.empty()) return fail(Errc::protocol, "no record of the job came back");
  return std::move(ended->jobs.front());
}

}  // namespace

int verb_job_attach(Invocation& call) {
  std::string word;
  Parser parser("job attach", "a job's output as it comes, then its exit code");
  parser.required("ID", word, "the job: 7 or /3/7")
      .group("Options")
      .instance(call)
      .note(
          "The output comes from its beginning, each stream to its own. The exit code is the "
          "job's, "
          "as that of holon run: 124 when its time limit ended it, 125 when it was refused, "
          "cancelled before it ran, or lost. Ctrl-C leaves, and leaves the job alone.")
      .example("holon job attach $(holon submit make)", "as holon run make, but for Ctrl-C");
  if (const auto code = parser.parse(call)) return *code;
  auto selected = connect_to_job(call, word);
  if (!selected) return report(call, "job attach", selected.error());
  auto& [client, id] = *selected;
  const WaitNotice notice(call, client, id, "holon job attach");
  const auto streamed = client.attach(id, [&call](const msg::OutputChunk& chunk) {
    (chunk.error ? call.io.err : call.io.out) << chunk.data << std::flush;
    return true;
  });
  if (!streamed) return report(call, "job attach", streamed.error());
  const auto job = ended_job(client, id);
  if (!job) return report(call, "job attach", job.error());
  if (const std::string why = failure_of(*job); !why.empty())
    call.io.err << fmt::format("holon job attach: job {}: {}\n", msg::label_of(*job),
                               printable(why));
  return code_at_the_end(*job);
}

int verb_job_status(Invocation& call) {
  std::vector<std::string> words;
  bool verbose = false, json = false;
  Parser parser("job status", "wait until jobs are over, and exit as they did");
  parser.positional("ID", words, "the jobs: 7, 3-9, /3/7")
      .group("Options")
      .flag("-v,--verbose", verbose, "say the exit code of each")
      .instance(call)
      .json(json)
      .note(
          "The exit code is the highest of the jobs': 124 for one that its time limit ended, 125 "
          "for one that was refused, cancelled before it ran, or lost.")
      .example("holon job status 7 && holon submit ./next", "only if job 7 has completed");
  if (const auto code = parser.parse(call)) return *code;
  if (words.empty())
    return report(call, "job status", {Errc::invalid_argument, "name at least one job", "ID"});
  auto jobs = connect_to_jobs(call, words);
  if (!jobs) return report(call, "job status", jobs.error());
  const auto ended = jobs->client.wait({jobs->ids});
  if (!ended) return report(call, "job status", ended.error());
  if (json) call.io.out << json_text(ended->jobs);
  int highest = kOk;
  for (const auto& job : ended->jobs) {
    const int code = code_at_the_end(job);
    highest = std::max(highest, code);
    if (verbose && !json) call.io.out << fmt::format("{} {}\n", msg::label_of(job), code);
  }
  return highest;
}

}  // namespace holon::cli
