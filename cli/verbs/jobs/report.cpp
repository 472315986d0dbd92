// holon report: what an instance has done, as a page to look at.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/report/page.hpp"
#include "cli/report/perfetto.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/process/state_claim.hpp"
#include "instance/registry/ran.hpp"
#include "instance/tree/dead_child.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

constexpr const char* kUsualFile = "report.html";
constexpr std::size_t kMostDamage = 10;  // findings that are told
// Tasks of arrays that are drawn one by one; of more, nobody could see anything.
constexpr std::uint64_t kMostTasks = 100'000;

struct ReportArgs {
  std::string file;  // "": kUsualFile, or none where trace events are all that was asked for
  std::string title, perfetto;
  std::string state_dir;  // of one that has ended; "": the instance is asked
  msg::JobsRequest request;
};

// The records as a schedule, as a simulation would have made it.
struct Recorded {
  sim::Workload workload;
  sim::SimResult result;
  std::vector<msg::JobRecord> records;
  std::size_t unstarted = 0;  // over, and never ran
  bool averages = false;      // an array is drawn as a whole
};

qmanager::Selection selection_of(const msg::JobRecord& job) {
  if (job.selection == "backfill") return qmanager::Selection::backfill;
  return job.selection == "reserved" ? qmanager::Selection::reserved
                                     : qmanager::Selection::immediate;
}

// The time when the job ended, or now while it runs.
Time end_of(const msg::JobRecord& job, Time now) {
  return job.t_finish > 0 ? job.t_finish : job.state == "INACTIVE" ? job.t_inactive : now;
}

// The job's processors; for an array drawn as a whole, what its tasks held on average.
std::int64_t procs_of(const msg::JobRecord& job, Time now) {
  if (job.tasks == 0) return job.ncores;
  const Duration lasted = job.t_start > 0 ? end_of(job, now) - job.t_start : 0;
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
  outcome.selection = selection_of(job);
  Time end = now;
  if (job.t_start > 0) {
    end = end_of(job, now);
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
    const bool never_ran = job.state == "INACTIVE" && job.t_start == 0;
    all.unstarted += never_ran;
    if (never_ran) continue;
    all.averages = all.averages || job.tasks > 0;
    add_record(all, job, now);
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
                  own.unstarted == 0 ? "" : fmt::format(", and {} that never ran", own.unstarted)));
  add("as of", full_time(now));
  add("holon", HOLON_VERSION);
  return facts;
}

// Queue depths, which the policy's name does not tell: how many jobs a pass looks at.
std::string depths_of(Client& client) {
  const auto stats = client.stats();
  if (!stats) return "";
  std::string text;
  for (const auto& queue : stats->queues)
    text += fmt::format("{}{} of queue {}", text.empty() ? "" : ", ", queue.depth, queue.name);
  return text;
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

// What the page shows, and what is known of the instance beside its jobs.
struct Shown {
  std::vector<msg::JobRecord> jobs;
  Result<msg::TreeNode> node = fail(Errc::not_found, "it has ended");
  instance::PastMachine machine;
  std::vector<web::Host> hosts;
  std::string depths, state_dir;
  std::vector<std::string> damage;  // of the journal that the jobs were read from
};

// The instance that has a job.
std::string instance_with(const msg::JobRecord& job) {
  const auto cut = job.path.rfind('/');
  return cut == 0 || cut == std::string::npos ? "/" : job.path.substr(0, cut);
}

// The jobs to draw: an array's tasks in its place, unless there are more than anybody could see;
// then the jobs of the instances below.
Result<std::vector<msg::JobRecord>> jobs_and_tasks(Client& client, msg::JobsRequest request) {
  auto own = client.jobs(request);
  if (!own) return tl::unexpected(own.error());
  std::uint64_t tasks = 0;
  bool has_children = false;
  for (const auto& job : own->jobs) {
    tasks += job.tasks;
    has_children = has_children || job.is_instance;
  }
  const std::string path = own->jobs.empty() ? "/" : instance_with(own->jobs.front());
  auto all = own->jobs;
  if (tasks > 0 && tasks <= kMostTasks) {
    auto with_tasks = request;
    with_tasks.tasks = true;
    auto more = client.jobs(with_tasks);
    if (!more) return tl::unexpected(more.error());
    all = std::move(more->jobs);
  }
  if (!has_children) return all;
  request.recursive = true;
  auto tree = client.jobs(request);
  if (!tree) return tl::unexpected(tree.error());
  for (auto& job : tree->jobs)
    if (instance_with(job) != path) all.push_back(std::move(job));
  return all;
}

Result<Shown> ask(Client& client, const ReportArgs& args) {
  auto jobs = jobs_and_tasks(client, args.request);
  if (!jobs) return tl::unexpected(jobs.error());
  Shown shown;
  shown.jobs = std::move(*jobs);
  shown.node = client.status();
  shown.depths = depths_of(client);
  if (const auto resources = client.resources()) shown.hosts = web::hosts_of(*resources);
  if (shown.node) shown.machine = {shown.node->nodes, shown.node->cores};
  return shown;
}

// Damage that may leave jobs off the page. A journal that cannot be checked has been read all the
// same: then only what the reader has met with is known.
std::vector<std::string> damage_of(const std::string& state_dir, std::vector<std::string> met) {
  auto check = instance::check_journal(state_dir);
  return check && !check->damage.empty() ? std::move(check->damage) : std::move(met);
}

// Appends the tasks of the arrays to the jobs. Tasks that cannot be read are problems.
void add_past_tasks(Shown& shown, const msg::JobFilter& filter,
                    std::vector<std::string>& problems) {
  std::vector<std::uint64_t> arrays;
  std::uint64_t tasks = 0;
  for (const auto& job : shown.jobs) {
    if (job.tasks == 0 || instance_with(job) != "/") continue;
    arrays.push_back(job.id);
    tasks += job.tasks;
  }
  if (tasks > kMostTasks) return;
  for (const std::uint64_t array : arrays) {
    auto past = instance::past_tasks(shown.state_dir, array, kMostTasks);
    if (!past) problems.push_back(fmt::format("array {}: {}", array, to_string(past.error())));
    for (auto& task : past ? *past : std::vector<msg::JobRecord>())
      if (msg::matches(filter, task)) shown.jobs.push_back(std::move(task));
  }
}

// The jobs of the instance, here a root, with the tasks of its arrays, and those of its children.
Result<Shown> read_ended(const ReportArgs& args) {
  std::error_code ignored;
  if (std::filesystem::exists(args.state_dir, ignored) &&
      !std::filesystem::is_directory(args.state_dir, ignored))
    return fail(Errc::invalid_argument,
                "is no state directory of an instance; the page's own file is -o FILE",
                args.state_dir);
  const auto runs = [&](const std::string& where) {
    return fail(Errc::busy, "its instance runs; holon report without DIR asks it" + where,
                args.state_dir);
  };
  if (const auto holder = instance::at_work_on(args.state_dir); !holder.uri.empty())
    return runs(", HOLON_URI=" + holder.uri);
  Shown shown;
  shown.state_dir = args.state_dir;
  std::string from;
  std::vector<std::string> problems;
  do {
    auto piece = instance::read_dead_child(args.state_dir, "/", from);
    if (piece.busy) return runs("");
    if (!piece.is_there && from.empty())
      return fail(
          Errc::not_found,
          piece.problems.empty() ? "there is no journal of an instance" : piece.problems.front(),
          args.state_dir);
    for (auto& job : piece.jobs)
      if (msg::matches(args.request.filter, job)) shown.jobs.push_back(std::move(job));
    problems.insert(problems.end(), piece.problems.begin(), piece.problems.end());
    from = std::move(piece.next);
  } while (!from.empty());
  add_past_tasks(shown, args.request.filter, problems);
  if (const auto machine = instance::past_machine(args.state_dir)) shown.machine = *machine;
  shown.damage = damage_of(args.state_dir, std::move(problems));
  return shown;
}

// The time of the page: now, or the end of the last job of an ended instance.
Time as_of(const Shown& shown) {
  if (shown.state_dir.empty()) return instance::wall_clock_ms();
  Time last = 0;
  for (const auto& job : shown.jobs)
    last = std::max({last, job.t_submit, job.t_start, job.t_finish, job.t_inactive});
  return last;
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
  std::string own = shown.jobs.empty() ? "/" : instance_with(shown.jobs.front());
  for (const auto& job : shown.jobs)
    if (instance_with(job).size() < own.size()) own = instance_with(job);
  std::map<std::string, std::vector<msg::JobRecord>> by_instance;
  std::map<std::string, std::pair<std::string, std::int64_t>> names_and_cores;
  for (auto& job : shown.jobs) {
    if (job.is_instance) names_and_cores[job.path] = {job.name, job.ncores};
    by_instance[instance_with(job)].push_back(std::move(job));
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
  if (own.averages)
    head.note +=
        " Arrays are drawn as a whole, with what their tasks held on average: there are too "
        "many of these.";
  return head;
}

// Writes what was asked for: the page, trace events, or both.
Status write_all(Shown& shown, const ReportArgs& args, std::ostream& out) {
  const Time now = as_of(shown);
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
            args.request.filter.since = *since;
            return {};
          },
          "TIME", "jobs that are not over, or ended since: -2h, 18:30, 2026-12-24T18:30")
      .option("--user", args.request.filter.user, "NAME", "jobs of this user")
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
  args.request.all = true;
  auto shown = Result<Shown>(Shown());
  if (args.state_dir.empty()) {
    auto client = connect_to_instance(call);
    if (!client) return report(call, "report", client.error());
    shown = ask(*client, args);
  } else {
    shown = read_ended(args);
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
