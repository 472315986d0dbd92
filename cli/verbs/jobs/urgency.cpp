// holon urgency: how soon pending jobs should run.
#include <fmt/format.h>

#include "cli/connect.hpp"
#include "cli/options/job_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {

int verb_urgency(Invocation& call) {
  std::vector<std::string> words;
  Parser parser("urgency", "change how soon pending jobs should run");
  parser
      .positional("ID... N", words,
                  "the jobs (7, 3-9, /3/7), then 0 to 31, or one of hold, default and expedite")
      .group("Options")
      .instance(call)
      .note(
          "0 holds a job: it is not considered until it gets another urgency. 16 is usual, 31 puts "
          "it in front of everybody. Only jobs that have not started can be changed; if one of "
          "several cannot, none is.")
      .example("holon urgency 7 0", "hold job 7")
      .example("holon urgency 3-9 expedite", "seven jobs in front of all others");
  if (const auto code = parser.parse(call)) return *code;
  if (words.size() < 2)
    return report(call, "urgency",
                  {Errc::invalid_argument, "name at least one job, then the urgency", "ID... N"});
  const auto urgency = parse_urgency(words.back());
  if (!urgency) return report(call, "urgency", urgency.error());
  words.pop_back();
  auto jobs = connect_to_jobs(call, words);
  if (!jobs) return report(call, "urgency", jobs.error());
  const auto set = jobs->client.set_urgency({jobs->ids, *urgency});
  return set ? static_cast<int>(kOk) : report(call, "urgency", set.error());
}

}  // namespace holon::cli
