// holon job eventlog: what happened to a job (RFC 18, RFC 21), as it is kept or as it happens.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

struct JobEventlogArgs {
  std::string job;
  bool follow = false;
  bool json = false;
};

// An event as `  0.012s  alloc    {"..."}`: the time since the first event, its name, its context.
std::string event_line(Time since, const std::string& name, const std::string& context) {
  const std::string shown = context == "{}" || context == "null" ? "" : context;
  std::string line =
      fmt::format("{:>4}.{:03}s  {:<10} {}", since / 1000, since % 1000, name, shown);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

int print_kept(Invocation& call, Client& client, const JobEventlogArgs& args, std::uint64_t id) {
  const auto info = client.info(id);
  if (!info) return report(call, "job eventlog", info.error());
  if (info->eventlog.empty())  // every job has been submitted
    return report(
        call, "job eventlog",
        {Errc::not_found, "its events are not kept any more", msg::shown_path(info->job)});
  if (args.json) {
    call.io.out << info->eventlog;
    return kOk;
  }
  std::istringstream lines(info->eventlog);
  std::optional<double> first;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!event.is_object()) continue;
    const double time = event.value("timestamp", 0.0);
    if (!first) first = time;
    const auto since = static_cast<Time>((time - *first) * 1000 + 0.5);
    const std::string context = event.contains("context") ? event["context"].dump() : "";
    call.io.out << event_line(since, event.value("name", "?"), context);
  }
  return kOk;
}

int print_as_it_happens(Invocation& call, Client& client, const JobEventlogArgs& args,
                        std::uint64_t id) {
  msg::WatchRequest request;
  request.ids = {id};
  std::optional<Time> first;
  const auto ended = client.watch(request, [&](const msg::JobEvent& event) {
    if (!first) first = event.time;
    if (args.json) {
      const nlohmann::ordered_json json = {
          {"timestamp", static_cast<double>(event.time) / 1000},
          {"name", event.name},
          {"context", nlohmann::ordered_json::parse(event.context, nullptr, false)}};
      call.io.out << json.dump() << "\n" << std::flush;
    } else {
      call.io.out << event_line(event.time - *first, event.name, event.context) << std::flush;
    }
    return true;
  });
  return ended ? kOk : report(call, "job eventlog", ended.error());
}

}  // namespace

int verb_job_eventlog(Invocation& call) {
  JobEventlogArgs args;
  Parser parser("job eventlog", "what happened to a job, and when");
  parser.required("ID", args.job, "the job: 7 or /3/7")
      .group("Options")
      .flag("-f,--follow", args.follow, "go on until the job is over")
      .instance(call)
      .json(args.json)
      .example("holon job eventlog 7", "its events, with the seconds since it was submitted");
  if (const auto code = parser.parse(call)) return *code;
  auto job = connect_to_job(call, args.job);
  if (!job) return report(call, "job eventlog", job.error());
  return args.follow ? print_as_it_happens(call, job->client, args, job->id)
                     : print_kept(call, job->client, args, job->id);
}

}  // namespace holon::cli
