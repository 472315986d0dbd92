// holon watch: how far the jobs of an instance are, as it happens.
#include <unistd.h>

#include <utility>

#include "cli/connect.hpp"
#include "cli/job_tracker.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {

int verb_watch(Invocation& call) {
  std::vector<std::string> words;
  bool stay = false, json = false;
  Parser parser("watch", "see how far jobs are, until all are over");
  parser.positional("ID", words, "these jobs (7, 3-9, /3/7); all of the instance unless given")
      .group("Options")
      .flag("-f,--follow", stay, "go on when no job waits or runs; without IDs only")
      .instance(call)
      .json(json)
      .note(
          "Written to standard output: on a terminal a bar, with how many jobs end per second and "
          "how long the rest will take "
          "at that rate; elsewhere a line every ten seconds. Failures are told as they come. Of "
          "all "
          "jobs of an instance, those count that have ended since the watch began. Exits with 0, "
          "or with 1 where a job has not completed. Ctrl-C ends the watch and leaves the jobs "
          "alone. A restart of the broker is waited for. With --json an object a line whenever "
          "something has changed: waiting, running, ended, failed; id and trouble of each failure; "
          "and at the end the counts with \"over\".")
      .example("holon watch", "until nothing is left to do")
      .example("holon watch 7-20", "fourteen jobs");
  if (const auto code = parser.parse(call)) return *code;
  if (stay && !words.empty())
    return report(call, "watch",
                  {Errc::invalid_argument, "not with jobs that are named", "--follow"});
  auto jobs = connect_to_jobs(call, words);
  if (!jobs) return report(call, "watch", jobs.error());
  ProgressLine progress(call.io, call.io.out, STDOUT_FILENO);
  if (json) progress.as_json();
  Result<ProgressCounts> counts;
  if (words.empty()) {
    counts = show_progress_of_all(jobs->client, stay, std::move(progress));
  } else {
    const auto cursor = cursor_of_now(jobs->client);
    if (!cursor) return report(call, "watch", cursor.error());
    counts = show_progress(jobs->client, {jobs->ids, *cursor, true}, std::move(progress));
  }
  if (!counts) return report(call, "watch", counts.error());
  return counts->failed == 0 ? kOk : kFailed;
}

}  // namespace holon::cli
