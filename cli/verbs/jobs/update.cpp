// holon update: what jobs ask for is another thing now.
#include "cli/connect.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/start_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kMostUnits = 1'000'000'000;

// Reads "10m", "+10m", "-5m", "inf".
Status read_change_of_limit(const std::string& word, msg::UpdateRequest& ask) {
  const bool is_relative = word.starts_with('+') || word.starts_with('-');
  const auto length = parse_limit(is_relative ? word.substr(1) : word);
  if (!length) return tl::unexpected(length.error());
  ask.limit = is_relative ? -1 : *length;
  ask.extend = is_relative ? (word.front() == '+' ? *length : -*length) : 0;
  if (!is_relative || *length != 0) return {};
  return fail(Errc::invalid_argument, "'" + word + "' changes nothing");
}

// Reads "8", "2-8", "off".
Status read_change_of_elastic(const std::string& word, msg::UpdateRequest& ask) {
  if (word == "off") {
    ask.elastic = 0;
    return {};
  }
  ElasticOption option;
  if (auto read = read_elastic(word, option); !read) return read;
  ask.elastic = option.most;
  ask.elastic_least = option.least;
  return {};
}

std::function<Status(const std::string&)> count_reader(std::int64_t& target) {
  return [&target](const std::string& word) -> Status {
    if (auto read = number_up_to(kMostUnits, target)(word); !read) return read;
    if (target >= 1) return {};
    return fail(Errc::invalid_argument, "'" + word + "' is too small; at least 1 is accepted");
  };
}

void add_changes(Parser& parser, msg::UpdateRequest& ask) {
  parser.group("Changes")
      .option(
          "-t,--time-limit|--time",
          [&ask](const std::string& word) { return read_change_of_limit(word, ask); }, "TIME",
          "another limit (10m, 2h, inf: none), a longer one (+10m) or a shorter one (-5m); of "
          "running jobs, too")
      .option("-n,--ntasks", count_reader(ask.slots), "N", "so many tasks, or slots, in all")
      .option("-N,--nodes", count_reader(ask.nodes), "N",
              "so many nodes, with as many tasks on each as before unless -n says more; of jobs "
              "that were submitted with -N")
      .option(
          "--elastic",
          [&ask](const std::string& word) { return read_change_of_elastic(word, ask); },
          "[MIN-]MAX|off",
          "of an instance: up to how many cores it asks for more by itself, or not at all; of one "
          "that waits also with how many it begins")
      .option("-q,--queue", ask.queue, "NAME", "it waits in this queue")
      .option("-J,--name|--job-name", ask.name, "NAME", "how listings call it")
      .option(
          "--urgency",
          [&ask](const std::string& word) -> Status {
            const auto urgency = parse_urgency(word);
            if (!urgency) return tl::unexpected(urgency.error());
            ask.urgency = *urgency;
            return {};
          },
          "0-31", "0 holds it, 16 is usual, 31 puts it first");
}

}  // namespace

int verb_update(Invocation& call) {
  msg::UpdateRequest ask;
  std::vector<std::string> words;
  Parser parser("update", "change what jobs ask for");
  parser.positional("ID", words, "the jobs (7, 3-9, /3/7)");
  add_changes(parser, ask);
  parser.group("Options")
      .instance(call)
      .note(
          "Of a job that waits everything can be changed; it keeps its place in the queue, and "
          "what "
          "could never run is refused with the reason. Of one that runs the limit can be changed: "
          "not beyond the end of its instance, and not to less than it has run; and how elastic an "
          "instance is. What it has beyond a lower maximum goes back as its jobs end. Jobs that "
          "have its resources reserved may start later then. The limits of jobs in a child "
          "instance follow the "
          "child's. If one of several jobs cannot be changed, none is.")
      .example("holon update 7 -t +30m", "it may run half an hour longer")
      .example("holon update 3 --elastic 8", "the instance of job 3 may have up to eight cores")
      .example("holon update 3-9 -q night --urgency 20", "seven jobs wait in another queue")
      .example("holon update 12 -n 8", "it asks for eight tasks");
  if (const auto code = parser.parse(call)) return *code;
  if (words.empty())
    return report(call, "update", {Errc::invalid_argument, "name at least one job", "ID"});
  const bool is_empty = ask.limit < 0 && ask.extend == 0 && ask.name.empty() && ask.queue.empty() &&
                        ask.urgency < 0 && ask.nodes == 0 && ask.slots == 0 && ask.elastic < 0;
  if (is_empty)
    return report(
        call, "update",
        {Errc::invalid_argument,
         "nothing is to be changed; accepted are -t, -n, -N, -q, -J, --elastic and --urgency", ""});
  auto jobs = connect_to_jobs(call, words);
  if (!jobs) return report(call, "update", jobs.error());
  ask.ids = jobs->ids;
  const auto done = jobs->client.update(ask);
  return done ? static_cast<int>(kOk) : report(call, "update", done.error());
}

}  // namespace holon::cli
