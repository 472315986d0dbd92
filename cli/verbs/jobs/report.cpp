// holon report: what an instance has done, as a page to look at.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/process/state_claim.hpp"
#include "instance/registry/ran.hpp"
#include "instance/tree/dead_child.hpp"
#include "msg/job_filter.hpp"
#include "sim/report.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kMostDamage = 10;  // findings that are told
// Tasks of arrays that are drawn one by one; of more, nobody could see anything.
constexpr std::uint64_t kMostTasks = 100'000;

struct ReportArgs {
  std::string file = "report.html";
  std::string title;
  std::string state_dir;  // of one that has ended; "": the instance is asked
  msg::JobsRequest request;
};

// The records as a schedule, as a simulation would have made it.
struct Recorded {
  sim::Workload workload;
  sim::SimResult result;
  std::vector<sim::ReportInput::Ended> ends;
  std::size_t unstarted = 0;  // over, and never ran
  bool averages = false;      // an array is drawn as a whole
};

sim::ReportInput::Ended ended_as(const msg::JobRecord& job) {
  using Ended = sim::ReportInput::Ended;
  if (job.state != "INACTIVE") return Ended::runs;
  if (job.result == "COMPLETED") return Ended::completed;
  if (job.result == "CANCELED") return Ended::cancelled;
  return job.result == "TIMEOUT" ? Ended::timeout : Ended::failed;
}

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
  all.ends.push_back(ended_as(job));
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
    const Result<msg::TreeNode>& node, const instance::PastMachine& machine, std::int64_t most,
    const Recorded& all, Time now) {
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
  add("machine", machine_text(machine, most));
  add("jobs",
      fmt::format("{}{}", all.workload.jobs.size(),
                  all.unstarted == 0 ? "" : fmt::format(", and {} that never ran", all.unstarted)));
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
  std::string depths, state_dir;
  std::vector<std::string> damage;  // of the journal that the jobs were read from
};

// The jobs to draw: an array's tasks in its place, unless there are more than anybody could see.
Result<msg::JobsReply> jobs_and_tasks(Client& client, msg::JobsRequest request) {
  auto jobs = client.jobs(request);
  if (!jobs || request.limit > 0 || request.recursive) return jobs;
  std::uint64_t tasks = 0;
  for (const auto& job : jobs->jobs) tasks += job.tasks;
  if (tasks == 0 || tasks > kMostTasks) return jobs;
  request.tasks = true;
  return client.jobs(request);
}

Result<Shown> ask(Client& client, const ReportArgs& args) {
  auto jobs = jobs_and_tasks(client, args.request);
  if (!jobs) return tl::unexpected(jobs.error());
  Shown shown{std::move(jobs->jobs), client.status(), {}, depths_of(client), "", {}};
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
    if (job.tasks == 0) continue;
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

// The jobs of the instance itself, here those of a root, and the tasks of its arrays: below are the
// jobs of children.
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
      if (job.path.rfind('/') == 0 && msg::matches(args.request.filter, job))
        shown.jobs.push_back(std::move(job));
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

Result<std::string> page_of(Shown shown, const ReportArgs& args) {
  const Time now = as_of(shown);
  Recorded all = recorded(std::move(shown.jobs), now);
  if (all.workload.jobs.empty())
    return fail(Errc::not_found, "no job has been submitted that could be shown");
  const auto& node = shown.node;
  const std::int64_t most = most_at_once(all);
  const std::int64_t procs = std::max(shown.machine.cores, most);
  auto facts = facts_of_instance(node, shown.machine, most, all, now);
  if (!shown.depths.empty())
    facts.emplace_back("waiting jobs that the scheduler tries", shown.depths);
  if (!shown.state_dir.empty()) facts.emplace_back("state directory", shown.state_dir);
  if (!shown.damage.empty())
    facts.emplace_back("journal", "damaged; jobs that cannot be read are left out");
  sim::PolicyRun run;
  run.name = node && !node->policy.empty() ? node->policy : "as recorded";
  run.result = std::move(all.result);
  all.workload.ticks_per_second = sim::kMsPerSecond;  // records are in ms
  run.metrics = sim::measure(all.workload, run.result, procs);
  const std::vector<sim::PolicyRun> runs = {std::move(run)};
  const std::string title = !args.title.empty() ? args.title
                            : node              ? fmt::format("holon {}", node->path)
                                                : std::string("holon");
  std::string note =
      "Jobs that run are shown as they are now. For a retried job only its last attempt is "
      "counted.";
  if (all.averages)
    note +=
        " Arrays are drawn as a whole, with what their tasks held on average: there are too "
        "many of these.";
  return sim::html_report(
      {title, std::move(facts), all.workload, runs, procs, std::move(all.ends), std::move(note)});
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
          "Waits, use and the queue over time, and every job on the machine, from the instance's "
          "own "
          "records: it may still run, be one that has ended and is asked for by its path, or a "
          "root "
          "that has ended and whose state directory (holon start --state-dir) is there. One "
          "file that needs nothing else; to be looked at in a browser, or printed. The same page "
          "is "
          "what holon simulate --report makes of a trace. Exit code 1 with a page: the journal in "
          "DIR is damaged, and jobs may be missing.")
      .example("holon report", "then look at report.html in a browser")
      .example("holon report -i /3 -o campaign.html", "of a child, whether it still lives or not")
      .example("holon report ./state", "of an instance that has ended");
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
  const auto page = page_of(std::move(*shown), args);
  if (!page) return report(call, "report", page.error());
  const auto written = write_report(args.file, *page, call.io.out);
  if (!written) return report(call, "report", written.error());
  if (args.file != "-" && call.io.err_terminal)
    call.io.err << "holon report: " << args.file << "\n";
  return tell_damage(call, args.state_dir, damage);
}

}  // namespace holon::cli
