// holon job info: everything kept about one job.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/connect.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/jobs/job_verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/job_filter.hpp"
#include "resource/jobspec/ordered_json.hpp"

namespace holon::cli {
namespace {

struct JobInfoArgs {
  std::string job;
  std::string key;
  bool json = false;
};

nlohmann::ordered_json parsed(const std::string& text) {
  return resource::parse_ordered(text);
}

nlohmann::ordered_json all_of(const msg::JobInfoReply& info) {
  auto events = nlohmann::ordered_json::array();
  std::istringstream lines(info.eventlog);
  for (std::string line; std::getline(lines, line);) events.push_back(parsed(line));
  nlohmann::ordered_json json = to_json(info.job);
  json["jobspec"] = info.jobspec.empty() ? nlohmann::ordered_json() : parsed(info.jobspec);
  json["R"] = info.R.empty() ? nlohmann::ordered_json() : parsed(info.R);
  json["eventlog"] = events;
  return json;
}

class Sheet {
 public:
  void line(const std::string& name, const std::string& value) {
    line_as_it_is(name, printable(value));
  }
  // Prints a value unescaped. REQUIRES: nothing in it came from a user.
  void line_as_it_is(const std::string& name, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("{:<11}{}\n", name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string sheet_of_job(const Io& io, const msg::JobRecord& job, Time now) {
  const auto at = [now](Time when) { return when > 0 ? show_time(when, now) : std::string(); };
  const std::string shown = msg::shown_path(job);
  Sheet sheet;
  sheet.line("job", fmt::format("{}  {}", shown, job.name));
  sheet.line_as_it_is("state",
                      paint(io, colour_of(job), msg::state_word(job)) +
                          (job.exit_code >= 0 ? fmt::format(", exit code {}", job.exit_code) : ""));
  const bool waits = job.state == "DEPEND" || job.state == "SCHED";
  sheet.line("why", job.reason + (waits ? fmt::format(" (more: holon explain {})", shown) : ""));
  sheet.line("tasks", msg::tasks_text(job));
  sheet.line("command", job.command);
  if (!job.entry.empty()) sheet.line("entry", job.entry);
  sheet.line("user", job.user);
  sheet.line("group", job.group);
  sheet.line("account", job.account);
  sheet.line("qos", job.qos);
  sheet.line("queue", fmt::format("{}, urgency {}", job.queue, job.urgency));
  sheet.line("resources", job.resources);
  sheet.line("nodes", job.nodelist);
  sheet.line("limit", job.limit > 0 ? show_duration(job.limit) : "none");
  sheet.line("attempt", job.retries > 0 ? std::to_string(job.retries + 1) : "");
  sheet.line("preempted", job.preemptions == 0   ? ""
                          : job.preemptions == 1 ? "once"
                                                 : fmt::format("{} times", job.preemptions));
  sheet.line("submitted", at(job.t_submit));
  sheet.line("planned", job.t_start == 0 ? at(job.t_estimate) : "");
  const std::string how = job.selection == "backfill"   ? ", backfilled"
                          : job.selection == "reserved" ? ", as reserved"
                                                        : "";
  sheet.line("started", job.t_start > 0 ? at(job.t_start) + how : "");
  sheet.line("ended", at(job.t_finish));
  if (job.t_start > 0)
    sheet.line("ran for", show_duration((job.t_finish > 0 ? job.t_finish : now) - job.t_start));
  if (job.t_finish > 0)
    sheet.line("used", fmt::format("{} of CPU time, {} at most", show_duration(job.cpu_ms),
                                   show_kib(job.max_rss_kb)));
  sheet.line("processes", fmt::format("{}", fmt::join(job.pids, " ")));
  sheet.line("instance", job.child_uri);
  sheet.line("output", job.output);
  sheet.line("error", job.error == job.output ? "" : job.error);
  return sheet.text();
}

int print(Invocation& call, const JobInfoArgs& args, const msg::JobInfoReply& info) {
  if (args.key == "jobspec")
    call.io.out << pretty(parsed(info.jobspec));
  else if (args.key == "R")
    call.io.out << info.R << "\n";
  else if (args.json)
    call.io.out << pretty(all_of(info));
  else
    call.io.out << sheet_of_job(call.io, info.job, instance::wall_clock_ms());
  return kOk;
}

}  // namespace

int verb_job_info(Invocation& call) {
  JobInfoArgs args;
  Parser parser("job info", "everything kept about a job");
  parser.required("ID", args.job, "the job: 7 or /3/7")
      .positional("KEY", args.key, "jobspec or R: only this, as JSON")
      .group("Options")
      .instance(call)
      .json(args.json)
      .example("holon job info 7", "state, reasons, times, where its output is")
      .example("holon job info 7 R", "the resources it got, as Rv1");
  if (const auto code = parser.parse(call)) return *code;
  if (!args.key.empty() && args.key != "jobspec" && args.key != "R")
    return report(call, "job info",
                  {Errc::invalid_argument, "accepted are jobspec and R", args.key});
  auto job = connect_to_job(call, args.job);
  if (!job) return report(call, "job info", job.error());
  auto info = job->client.info(job->id);
  if (!info && !job->client.path().empty() && args.key.empty()) {
    // The job's instance may be gone; then the record is all there is.
    if (auto record = job->client.record(job->id))
      info = msg::JobInfoReply{std::move(*record), "null", "", ""};
  }
  if (!info) return report(call, "job info", info.error());
  if (args.key == "jobspec" && info->jobspec.empty())  // every job has one
    return report(
        call, "job info",
        {Errc::not_found, "its jobspec is not kept any more", msg::shown_path(info->job)});
  if (args.key == "R" && info->R.empty())
    return report(
        call, "job info",
        {Errc::not_found,
         info->job.state == "INACTIVE" ? "it never had resources: there is no R"
                                       : "it has no resources yet: there is no R before it starts",
         msg::shown_path(info->job)});
  return print(call, args, *info);
}

}  // namespace holon::cli
