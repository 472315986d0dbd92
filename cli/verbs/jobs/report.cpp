// holon report: what an instance has done, as a page to look at.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>
#include <set>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/report/gather.hpp"
#include "cli/report/page.hpp"
#include "cli/report/perfetto.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/damage/repair.hpp"
#include "qmanager/selection.hpp"

namespace holon::cli {
namespace {

constexpr const char* kUsualFile = "report.html";
constexpr std::size_t kMostDamage = 10;  // findings that are told

struct ReportArgs {
  std::string file;  // "": kUsualFile, or none where trace events are all that was asked for
  std::string title, perfetto;
  std::string state_dir;  // of one that has ended; "": the instance is asked
  msg::JobFilter filter;
};

// The records as a schedule, as a simulation would have made it.
struct Recorded {
  sim::Workload workload;
  sim::SimResult result;
  std::vector<msg::JobRecord> records;
  std::size_t unstarted = 0;  // records of jobs that are over and never ran: only these have them
  bool averages = false;      // an array is drawn as a whole
};

// The job's processors; for an array drawn as a whole, what its tasks held on average.
std::int64_t procs_of(const msg::JobRecord& job, Time now) {
  if (job.tasks == 0) return job.ncores;
  const Duration lasted = job.t_start > 0 ? web::end_of_run(job, now) - job.t_start : 0;
  const std::int64_t held = lasted > 0 ? (job.tasks_core_ms + lasted / 2) / lasted : job.ncores;
  return std::max<std::int64_t>(1, held);
}

void add_record(Recorded& all, const msg::JobRecord& job, Time now) {
  sim::TraceJob traced;
  traced.id = static_cast<std::int64_t>(job.id);
  traced.submit = job.t_submit;
  traced.procs = procs_of(job, now);
  traced.limit = job.limit;
  traced.user = job.user;
  traced.queue = job.queue;
  sim::JobOutcome outcome;
  outcome.submitted = job.t_submit;
  outcome.selection = qmanager::selection_of(job.selection);
  Time end = now;
  if (job.t_start > 0) {
    end = web::end_of_run(job, now);
    outcome.start = job.t_start;
    traced.run = std::max<Duration>(0, end - job.t_start);
  }
  all.result.first_submit =
      all.workload.jobs.empty() ? job.t_submit : std::min(all.result.first_submit, job.t_submit);
  all.result.end = std::max(all.result.end, end);
  all.workload.jobs.push_back(std::move(traced));
  all.result.jobs.push_back(std::move(outcome));
  all.records.push_back(job);
  all.records.back().ncores = all.workload.jobs.back().procs;
}

Recorded recorded(std::vector<msg::JobRecord> jobs, Time now) {
  std::sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
    return std::pair(a.t_submit, a.id) < std::pair(b.t_submit, b.id);
  });
  Recorded all;
  std::set<std::uint64_t> arrays;  // those whose tasks are there
  for (const auto& job : jobs)
    if (job.array != 0 && job.tasks == 0) arrays.insert(job.array);
  for (const auto& job : jobs) {
    if (job.tasks > 0 && arrays.contains(job.id)) continue;
    all.averages = all.averages || job.tasks > 0;
    if (job.state == "INACTIVE" && job.t_start == 0) {
      ++all.unstarted;
      all.records.push_back(job);
    } else {
      add_record(all, job, now);
    }
  }
  return all;
}

// The most cores in use at once: a machine that has shrunk since had them too.
std::int64_t most_at_once(const Recorded& all) {
  std::vector<std::pair<Time, std::int64_t>> changes;
  for (std::size_t i = 0; i < all.workload.jobs.size(); ++i) {
    const auto& job = all.workload.jobs[i];
    if (!all.result.jobs[i].start) continue;
    changes.emplace_back(*all.result.jobs[i].start, job.procs);
    changes.emplace_back(*all.result.jobs[i].start + job.run, -job.procs);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0, most = 1;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

// An instance of those that are shown, and how its schedule was.
struct InstanceReport {
  ReportPart part;
  sim::PolicyRun run;
  std::int64_t most = 1;      // cores in use at once
  std::size_t unstarted = 0;  // jobs
  bool averages = false;
};

std::string full_time(Time ms) {
  return show_time(ms, 0);
}

std::string machine_text(const instance::PastMachine& machine, std::int64_t most) {
  if (machine.cores == 0) return fmt::format("at least {} cores", most);
  std::string text =
      fmt::format("{} node{}, {} core{}", machine.nodes, machine.nodes == 1 ? "" : "s",
                  machine.cores, machine.cores == 1 ? "" : "s");
  if (most > machine.cores) text += fmt::format("; {} were in use before", most);
  return text;
}

std::vector<std::pair<std::string, std::string>> facts_of_instance(
    const Result<msg::TreeNode>& node, const instance::PastMachine& machine,
    const InstanceReport& own, Time now) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&facts](const char* name, std::string value) {
    if (!value.empty()) facts.emplace_back(name, std::move(value));
  };
  if (node) {
    add("instance", node->path + (node->name.empty() ? "" : " (" + node->name + ")"));
    add("state", node->health);
    add("policy", node->policy);
    add("since", node->t_started > 0 ? full_time(node->t_started) : "");
  }
  add("machine", machine_text(machine, own.most));
  add("jobs",
      fmt::format("{}{}", own.part.jobs.size(),
                  own.unstarted == 0 ? "" : fmt::format(", {} of them never ran", own.unstarted)));
  add("as of", full_time(now));
  add("holon", HOLON_VERSION);
  return facts;
}

Status write_report(const std::string& file, const std::string& page, std::ostream& out) {
  if (file == "-") {
    out << page;
    return {};
  }
  std::ofstream to(file, std::ios::binary | std::ios::trunc);
  to << page;
  to.close();
  if (!to) return fail(Errc::system, "cannot be written", file);
  return {};
}

InstanceReport told_of(const std::string& path, std::vector<msg::JobRecord> jobs,
                       std::int64_t cores, Time now) {
  Recorded all = recorded(std::move(jobs), now);
  InstanceReport told;
  told.unstarted = all.unstarted;
  told.averages = all.averages;
  told.part.node.path = path;
  told.most = most_at_once(all);
  told.part.node.cores = std::max(cores, told.most);
  told.run.ticks_per_second = all.workload.ticks_per_second = sim::kMsPerSecond;
  told.run.metrics = sim::measure(all.workload, all.result, told.part.node.cores);
  told.part.jobs = std::move(all.records);
  return told;
}

// The instance itself, then those below it.
std::vector<InstanceReport> all_told(Shown& shown, Time now) {
  std::string own = shown.jobs.empty() ? "/" : web::instance_of(shown.jobs.front().path);
  for (const auto& job : shown.jobs)
    if (web::instance_of(job.path).size() < own.size()) own = web::instance_of(job.path);
  std::map<std::string, std::vector<msg::JobRecord>> by_instance;
  std::map<std::string, std::pair<std::string, std::int64_t>> names_and_cores;
  for (auto& job : shown.jobs) {
    if (job.is_instance) names_and_cores[job.path] = {job.name, job.ncores};
    by_instance[web::instance_of(job.path)].push_back(std::move(job));
  }
  std::vector<InstanceReport> all;
  all.push_back(told_of(own, std::move(by_instance[own]), shown.machine.cores, now));
  all.front().part.hosts = std::move(shown.hosts);
  all.front().run.name =
      shown.node && !shown.node->policy.empty() ? shown.node->policy : "as recorded";
  by_instance.erase(own);
  for (auto& [path, jobs] : by_instance) {
    const auto& [name, cores] = names_and_cores[path];
    InstanceReport child = told_of(path, std::move(jobs), cores, now);
    if (child.part.jobs.empty()) continue;
    child.part.node.name = name;
    child.run.name = path + (name.empty() ? "" : " " + name);
    all.push_back(std::move(child));
  }
  return all;
}

ReportHead head_of_instance(const Shown& shown, const std::vector<InstanceReport>& all,
                            const ReportArgs& args, Time now) {
  const auto& node = shown.node;
  const InstanceReport& own = all.front();
  ReportHead head;
  head.now = now;
  head.last_lines = shown.last_lines;
  head.best = own.part.node.path;
  head.facts = facts_of_instance(node, shown.machine, own, now);
  if (!shown.depths.empty())
    head.facts.emplace_back("waiting jobs that the scheduler tries", shown.depths);
  if (!shown.state_dir.empty()) head.facts.emplace_back("state directory", shown.state_dir);
  if (!shown.damage.empty())
    head.facts.emplace_back("journal", "damaged; jobs that cannot be read are left out");
  head.title = !args.title.empty() ? args.title
               : node              ? fmt::format("holon {}", node->path)
                                   : std::string("holon");
  head.note =
      "Jobs that run are shown as they are now. For a retried job only its last attempt is "
      "counted.";
  if (std::any_of(all.begin(), all.end(), [](const auto& told) { return told.averages; }))
    head.note +=
        " Some arrays are drawn as a whole, with what their tasks held on average, as there are "
        "too many tasks or nobody here knows them any more; what failed in them is not among the "
        "failures.";
  return head;
}

// Writes what was asked for: the page, trace events, or both.
Status write_all(Shown& shown, const ReportArgs& args, std::ostream& out) {
  const Time now = shown.as_of();
  auto all = all_told(shown, now);
  if (all.front().part.jobs.empty())
    return fail(Errc::not_found, "no job has been submitted that could be shown");
  if (!args.perfetto.empty()) {
    std::vector<ReportPart> parts;
    for (const auto& told : all) parts.push_back(told.part);
    if (auto ok = write_report(args.perfetto, trace_events(parts, now), out); !ok) return ok;
    if (args.file.empty()) return {};
  }
  ReportPage page(head_of_instance(shown, all, args, now));
  for (const auto& told : all) page.add(told.part, told.run);
  const auto html = page.html();
  if (!html) return tl::unexpected(html.error());
  return write_report(args.file.empty() ? kUsualFile : args.file, *html, out);
}

// Tells of damage; returns the exit code.
int tell_damage(Invocation& call, const std::string& state_dir,
                const std::vector<std::string>& damage) {
  if (damage.empty()) return kOk;
  for (std::size_t i = 0; i < std::min(damage.size(), kMostDamage); ++i)
    call.io.err << "holon report: the journal is damaged: " << printable(damage[i]) << "\n";
  if (damage.size() > kMostDamage)
    call.io.err << fmt::format("holon report: and {} more\n", damage.size() - kMostDamage);
  call.io.err << fmt::format("holon report: jobs that cannot be read are left out; {}\n",
                             instance::repair_advice(state_dir));
  return kFailed;
}

}  // namespace

int verb_report(Invocation& call) {
  ReportArgs args;
  Parser parser("report", "a page about what an instance has done");
  parser
      .positional("DIR", args.state_dir,
                  "the state directory of an instance that has ended; one that can be asked "
                  "otherwise")
      .group("Options")
      .option("-o,--output", args.file, "FILE",
              "where to, report.html unless given; - is standard output")
      .option("--title", args.title, "TEXT", "of the page")
      .option("--perfetto", args.perfetto, "FILE",
              "write trace events, which https://ui.perfetto.dev opens: instances as processes, "
              "nodes as threads; the page, too, where -o is given")
      .option(
          "--since",
          [&args](const std::string& text) -> Status {
            const auto since = parse_since(text, instance::wall_clock_ms());
            if (!since) return tl::unexpected(since.error());
            args.filter.since = *since;
            return {};
          },
          "TIME", "jobs that are not over, or ended since: -2h, 18:30, 2026-12-24T18:30")
      .option("--user", args.filter.user, "NAME", "jobs of this user")
      .instance(call)
      .note(
          "What became of the jobs of the instance and of those below it, from its own records: "
          "outcomes, core hours, failures of one kind together, every job on the nodes that it "
          "had, "
          "and behind that the figures of the schedule. The instance may still run, be one that "
          "has "
          "ended and is asked for by its path, or a root that has ended and whose state directory "
          "(holon start --state-dir) is there. One file that needs nothing else: the live page of "
          "holon web as it stands, to be looked at in a browser, or printed. The same page is what "
          "holon simulate --report makes of a trace. Exit code 1 with a page: the journal in DIR "
          "is "
          "damaged, and jobs may be missing.")
      .example("holon report", "then look at report.html in a browser")
      .example("holon report -i /3 -o campaign.html", "of a child, whether it still lives or not")
      .example("holon report ./state", "of an instance that has ended")
      .example("holon report --perfetto trace.json", "for ui.perfetto.dev");
  if (const auto code = parser.parse(call)) return *code;
  if (args.file == "-" && args.perfetto == "-")
    return report(call, "report",
                  {Errc::invalid_argument, "standard output is for one of -o and --perfetto", "-"});
  auto shown = Result<Shown>(Shown());
  if (args.state_dir.empty()) {
    auto client = connect_to_instance(call);
    if (!client) return report(call, "report", client.error());
    shown = ask_instance(*client, args.filter);
  } else {
    shown = read_ended_instance(args.state_dir, args.filter);
  }
  if (!shown) return report(call, "report", shown.error());
  const auto damage = shown->damage;
  const auto written = write_all(*shown, args, call.io.out);
  if (!written) return report(call, "report", written.error());
  if (call.io.err_terminal)
    for (const std::string& file :
         {args.perfetto, args.file.empty() && args.perfetto.empty() ? kUsualFile : args.file})
      if (!file.empty() && file != "-") call.io.err << "holon report: " << file << "\n";
  return tell_damage(call, args.state_dir, damage);
}

}  // namespace holon::cli
