// holon jobs: the table of jobs.
#include <fmt/format.h>

#include <map>
#include <ostream>
#include <utility>

#include "cli/broker.hpp"
#include "cli/job_json.hpp"
#include "cli/outcome.hpp"
#include "cli/parser.hpp"
#include "cli/table.hpp"
#include "cli/units.hpp"
#include "cli/verbs.hpp"
#include "instance/clock.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kLongestName = 20;  // columns

struct Args {
  msg::JobsRequest request;
  std::int64_t limit = 0;
  bool json = false;
  std::vector<std::string> ids;
};

std::string runtime_of(const msg::JobRecord& job, Time now) {
  if (job.t_start == 0) return "";
  return show_duration((job.t_finish > 0 ? job.t_finish : now) - job.t_start);
}

std::string cores_of(const msg::JobRecord& job) {
  return job.ncores > 0 ? std::to_string(job.ncores) : "";
}

Table table_of(const Io& io, const Args& args, const std::vector<msg::JobRecord>& jobs, Time now) {
  using enum Table::Align;
  Table table({{args.request.recursive ? "PATH" : "ID", args.request.recursive ? left : right},
               {"NAME", left},
               {"STATE", left},
               {"NODES", right},
               {"CORES", right},
               {"GPUS", right},
               {"TIME", right},
               {"LIMIT", right},
               {"INFO", left}});
  for (const auto& job : jobs) {
    const std::string name = job.is_instance ? job.name + "/" : job.name;
    table.add({{args.request.recursive ? job.path : std::to_string(job.id)},
               {shorten(io, name, kLongestName)},
               {status_of(job), colour_of(job)},
               {job.nnodes > 0 ? std::to_string(job.nnodes) : ""},
               {cores_of(job)},
               {job.ngpus > 0 ? std::to_string(job.ngpus) : ""},
               {runtime_of(job, now)},
               {job.limit > 0 ? show_duration(job.limit) : ""},
               {details_of(job, now)}});
  }
  return table;
}

// "3 running, 2 pending, 40 completed, 1 failed"
std::string summary_of(const std::vector<msg::JobRecord>& jobs) {
  std::map<std::string, std::size_t> counts;
  for (const auto& job : jobs) {
    const std::string status = status_of(job);
    const bool ended = job.state == "INACTIVE";
    ++counts[ended ? status : status == "RUN" || status == "CLEANUP" ? "RUNNING" : "PENDING"];
  }
  std::string text;
  for (const char* status :
       {"RUNNING", "PENDING", "COMPLETED", "FAILED", "TIMEOUT", "CANCELED", "REJECTED"}) {
    if (!counts.contains(status)) continue;
    std::string word = status;
    for (char& c : word) c = static_cast<char>(std::tolower(c));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[status], word);
  }
  return text;
}

std::string hint_of(const std::vector<msg::JobRecord>& jobs) {
  for (const auto& job : jobs)
    if (job.state == "SCHED" || job.state == "DEPEND")
      return fmt::format("; holon explain {} says more about a wait", job.path);
  return "";
}

}  // namespace

int verb_jobs(Invocation& call) {
  Args args;
  Parser parser("jobs", "list jobs");
  parser.positional("ID", args.ids, "only these: 7, 3-9; all pending and running ones otherwise")
      .group("Options")
      .flag("-a,--all", args.request.all, "jobs that are over, too")
      .flag("-R,--recursive", args.request.recursive,
            "jobs of child instances, too, whether these still live or not")
      .option("--limit", args.limit, "N", "the newest N only")
      .instance(call)
      .json(args.json)
      .note(
          "A name that ends in / is a child instance. TIME is how long a job ran or has been "
          "running. Why a job waits in full, and what would let it start now: holon explain ID.")
      .example("holon jobs -a", "everything this instance has seen")
      .example("holon jobs -R -a --json", "the whole tree's history, for a program");
  if (const auto code = parser.parse(call)) return *code;
  if (args.limit < 0)
    return report(call, "jobs", {Errc::invalid_argument, "must not be negative", "--limit"});
  args.request.limit = static_cast<std::uint64_t>(args.limit);
  auto selected = connect_to_jobs(call, args.ids);
  if (!selected) return report(call, "jobs", selected.error());
  args.request.ids = std::move(selected->ids);
  args.request.all = args.request.all || !args.ids.empty();
  const auto reply = selected->broker.jobs(args.request);
  if (!reply) return report(call, "jobs", reply.error());
  if (args.json) {
    call.io.out << json_text(reply->jobs);
    return kOk;
  }
  call.io.out << table_of(call.io, args, reply->jobs, instance::wall_clock_ms()).render(call.io);
  if (call.io.terminal && !reply->jobs.empty())
    call.io.out << paint(call.io, Colour::dim, summary_of(reply->jobs) + hint_of(reply->jobs))
                << "\n";
  return kOk;
}

}  // namespace holon::cli
