// holon history: what jobs that are over have waited for and used, job by job or added up.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/csv.hpp"
#include "cli/show/job_fields.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/swf_jobs.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/glob.hpp"
#include "msg/job_filter.hpp"
#include "msg/usage.hpp"

namespace holon::cli {
namespace {

struct HistoryArgs {
  msg::JobsRequest request;
  std::int64_t limit = 0;
  bool json = false, csv = false, swf = false;
  std::vector<const JobField*> fields;  // empty: the usual ones
};

std::vector<const JobField*> usual_columns(bool with_paths) {
  const std::string id = with_paths ? "path" : "id";
  return *parse_fields(id + ",name,user,state,code,cores,wait,time,cpu,use,memory,end");
}

// Rows in the form asked for, as their pages come.
class Rows {
 public:
  Rows(Invocation& call, const HistoryArgs& args)
      : call_(call),
        args_(args),
        fields_(args.fields.empty() ? usual_columns(args.request.recursive) : args.fields),
        table_(columns_of(fields_)) {
    if (args_.csv) call_.io.out << csv_titles();
  }

  // Sets the machine of the trace that the jobs become.
  void set_machine(const msg::TreeNode& machine) { machine_ = machine; }

  void add(const std::vector<msg::JobRecord>& jobs, bool more) {
    if (args_.json) {
      call_.io.out << json_.next(jobs);
      return;
    }
    if (args_.swf) return add_to_trace(jobs);
    for (const auto& job : jobs) {
      const bool has_its_tasks_behind = args_.request.tasks && job.tasks > 0;
      if (args_.csv && !has_its_tasks_behind)  // a spreadsheet would add up both
        call_.io.out << csv_row(job);
      else if (!args_.csv)
        add_row(job);
    }
    if (!args_.csv) call_.io.out << table_.render_next(call_.io, more) << std::flush;
  }
  void end() {
    if (args_.json) call_.io.out << json_.end(machine_.cores);
    if (!args_.swf) return;
    sim::SwfHeader header;
    header.computer = machine_.name;
    header.note = "written by holon " HOLON_VERSION;
    header.procs = machine_.cores;
    header.nodes = machine_.nodes;
    call_.io.out << sim::swf_text(std::move(trace_), header);
  }

 private:
  // Adds jobs to the trace: an array's tasks are jobs, the array is none.
  void add_to_trace(const std::vector<msg::JobRecord>& jobs) {
    for (const auto& job : jobs)
      if (job.tasks == 0) trace_.push_back(swf_job(job));
  }

  void add_row(const msg::JobRecord& job) {
    std::vector<Table::Cell> row;
    for (const auto* field : fields_)
      row.push_back(cell_of(call_.io, *field, job, now_, !args_.fields.empty()));
    table_.add(std::move(row));
  }

  Invocation& call_;
  const HistoryArgs& args_;
  std::vector<const JobField*> fields_;
  Table table_;
  JsonJobs json_;
  msg::TreeNode machine_;
  std::vector<sim::SwfJob> trace_;
  Time now_ = instance::wall_clock_ms();
};

// Lists jobs by id: listing by end would need all of them at once.
Status list_ended(Client& client, const HistoryArgs& args, Rows& rows) {
  if (args.request.recursive || args.request.limit > 0) {
    const auto all = client.jobs(args.request);
    if (!all) return tl::unexpected(all.error());
    rows.add(all->jobs, false);
    return {};
  }
  return client.each_page(args.request,
                          [&rows](const std::vector<msg::JobRecord>& page, bool more) {
                            rows.add(page, more);
                            return true;
                          });
}

// Usage in a tree is added up here: a path may come twice.
Result<std::vector<msg::Usage>> usage_of(Client& client, const HistoryArgs& args) {
  if (!args.request.recursive) return client.usage(args.request);
  msg::JobsRequest ask = args.request;
  ask.by.clear();
  const auto all = client.jobs(ask);
  if (!all) return tl::unexpected(all.error());
  msg::UsageTable table;
  for (const auto& job : all->jobs) msg::add_usage(table, args.request.by, job);
  std::vector<msg::Usage> list;
  for (auto& [key, usage] : table) list.push_back(std::move(usage));
  return list;
}

msg::Usage sum_of(const std::vector<msg::Usage>& usages) {
  msg::UsageTable table;
  for (msg::Usage usage : usages) {
    usage.key = "all";
    msg::add_usage(table, usage);
  }
  return table.empty() ? msg::Usage() : table.begin()->second;
}

std::string share_of(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? "" : fmt::format("{}%", (part * 100 + whole / 2) / whole);
}

std::vector<Table::Cell> usage_row(const msg::Usage& u) {
  const auto count = [](std::uint64_t n) { return n == 0 ? std::string() : std::to_string(n); };
  const auto started = static_cast<std::int64_t>(std::max<std::uint64_t>(1, u.started));
  return {{u.key.empty() ? "-" : u.key},
          {std::to_string(u.jobs)},
          {count(u.completed)},
          {count(u.failed + u.timeout + u.rejected), Colour::red},
          {count(u.cancelled)},
          {u.started == 0 ? "" : show_duration(u.wait_ms / started)},
          {u.started == 0 ? "" : show_duration(u.run_ms / started)},
          {show_duration(u.core_ms)},
          {show_duration(u.cpu_ms)},
          {share_of(u.cpu_ms, u.core_ms)},
          {u.max_rss_kb > 0 ? show_kib(u.max_rss_kb) : ""}};
}

std::string usage_table(const Io& io, const std::string& by, const std::vector<msg::Usage>& all) {
  std::string title = by;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  constexpr auto right = Table::Align::right;
  Table table({{title},
               {"JOBS", right},
               {"COMPLETED", right},
               {"FAILED", right},
               {"CANCELLED", right},
               {"WAIT", right},
               {"RUN", right},
               {"CORE-TIME", right},
               {"CPU-TIME", right},
               {"USE", right},
               {"MEMORY", right}});
  for (const auto& usage : all) table.add(usage_row(usage));
  if (all.size() > 1) table.add(usage_row(sum_of(all)));
  return table.render(io);
}

Status show_usage(Invocation& call, Client& client, const HistoryArgs& args) {
  const auto all = usage_of(client, args);
  if (!all) return tl::unexpected(all.error());
  if (args.json)
    call.io.out << json_text(*all);
  else if (args.csv)
    call.io.out << csv_text(args.request.by, *all);
  else
    call.io.out << usage_table(call.io, args.request.by, *all);
  return {};
}

template <class Target>
Status keep_read(Result<Target> read, Target& target) {
  if (!read) return tl::unexpected(read.error());
  target = std::move(*read);
  return {};
}

Status read_results(const std::string& text, msg::JobFilter& filter) {
  std::vector<std::string> typed(1);
  for (const char c : text)
    if (c == ',')
      typed.emplace_back();
    else
      typed.back() += c;
  static constexpr auto kResults =
      std::to_array<std::string_view>({"COMPLETED", "FAILED", "CANCELED", "TIMEOUT", "REJECTED"});
  filter.states.clear();
  for (const auto& word : typed) {
    std::string state = word;
    for (char& c : state) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (std::find(kResults.begin(), kResults.end(), state) == kResults.end())
      return fail(
          Errc::invalid_argument,
          fmt::format("'{}' is no result; completed, failed, canceled, timeout and rejected "
                      "are",
                      word));
    filter.states.push_back(std::move(state));
  }
  return {};
}

void add_sieve(Parser& parser, HistoryArgs& args) {
  auto& filter = args.request.filter;
  const auto time_into = [](std::int64_t& target) {
    return [&target](const std::string& text) {
      return keep_read(parse_since(text, instance::wall_clock_ms()), target);
    };
  };
  parser.group("Which jobs")
      .option("--since", time_into(filter.since), "TIME",
              "that ended since: -2h, 18:30, 2026-12-24T18:30")
      .option("--until", time_into(filter.until), "TIME", "that ended before")
      .option(
          "--filter", [&filter](const std::string& text) { return read_results(text, filter); },
          "RESULT,...", "that ended so: completed, failed, canceled, timeout, rejected")
      .option("--user", filter.user, "NAME", "of this user")
      .option("--name", filter.name, "GLOB", "with such a name: 'sweep-*'")
      .option("--queue", filter.queue, "NAME", "of this queue")
      .option("--limit", args.limit, "N", "the newest N only; not with --by");
  parser.group("How they are shown")
      .option(
          "--by",
          [&args](const std::string& word) -> Status {
            if (auto known = msg::check_usage_key(word); !known)
              return fail(Errc::invalid_argument, known.error().what);
            args.request.by = word;
            return {};
          },
          "WHAT", "added up by user, name, queue, account, group, qos, result or day")
      .option(
          "--format",
          [&args](const std::string& text) { return keep_read(parse_fields(text), args.fields); },
          "FIELD,...", "these columns, as of holon jobs")
      .flag("--csv", args.csv, "comma-separated, with a line of titles; times in seconds")
      .flag("--swf", args.swf,
            "a trace in the Standard Workload Format, as holon simulate takes it: tasks of arrays "
            "are jobs");
}

Status check_history(const HistoryArgs& args) {
  const auto misfit = [](std::string what, const char* where) {
    return fail(Errc::invalid_argument, std::move(what), where);
  };
  if (args.limit < 0)
    return misfit(fmt::format("{} is not accepted, at least 0 (all) is", args.limit), "--limit");
  if (auto good = msg::check_glob(args.request.filter.name); !good)
    return misfit(good.error().what, "--name");
  if (args.json && args.csv) return misfit("one of --json and --csv", "--csv");
  if (args.swf && (args.json || args.csv)) return misfit("one of --json, --csv and --swf", "--swf");
  const bool by = !args.request.by.empty();
  if (by && args.limit > 0) return misfit("not with --by", "--limit");
  if (by && !args.fields.empty()) return misfit("not with --by", "--format");
  if (args.csv && !args.fields.empty()) return misfit("not with --csv, which has all", "--format");
  if (args.swf && (by || args.limit > 0 || args.request.recursive || !args.fields.empty()))
    return misfit("not with --by, --limit, --recursive and --format", "--swf");
  if (args.request.tasks && (by || args.limit > 0 || args.request.recursive))
    return misfit("not with --by, --limit and --recursive", "--tasks");
  return {};
}

}  // namespace

int verb_history(Invocation& call) {
  HistoryArgs args;
  Parser parser("history", "what jobs that are over have waited for and used");
  parser.group("Options")
      .flag("-R,--recursive", args.request.recursive,
            "jobs of child instances, too, whether these still live or not")
      .flag("--tasks", args.request.tasks,
            "behind each array its tasks (with --csv in its place); not with --recursive")
      .instance(call)
      .json(args.json);
  add_sieve(parser, args);
  parser
      .note(
          "WAIT is from submission to start, TIME from start to end, CPU what the tasks computed, "
          "with the processes they waited for; USE is CPU in percent of the cores' time. MEMORY is "
          "the largest resident size of each task, added up over the job's tasks. For a job that "
          "was run again (--requeue) only its last attempt is counted.")
      .note(
          "Added up, WAIT and RUN are means over the jobs that started, CORE-TIME is the time of "
          "the cores they held, and MEMORY the most that one job had. A day is that of the end. Of "
          "an array each task counts; in a list it is one line, with --tasks followed by them.")
      .example("holon history --since -1d --by user", "who has used what since yesterday")
      .example("holon history --filter failed --name 'sweep-*'", "what went wrong in a campaign")
      .example("holon history --csv > jobs.csv", "for a spreadsheet")
      .example("holon history --since -30d --swf > mine.swf", "a trace of one's own last month");
  if (const auto code = parser.parse(call)) return *code;
  if (auto sound = check_history(args); !sound) return report(call, "history", sound.error());
  args.request.limit = static_cast<std::uint64_t>(args.limit);
  args.request.tasks = args.request.tasks || args.swf;
  args.request.all = true;
  if (args.request.filter.states.empty()) args.request.filter.states = {"INACTIVE"};
  auto client = connect_to_instance(call);
  if (!client) return report(call, "history", client.error());
  if (!args.request.by.empty()) {
    const auto shown = show_usage(call, *client, args);
    return shown ? kOk : report(call, "history", shown.error());
  }
  Rows rows(call, args);
  // The size of an instance that is over is unknown.
  if (const auto machine = args.json || args.swf ? client->status() : Result<msg::TreeNode>();
      machine)
    rows.set_machine(*machine);
  if (const auto listed = list_ended(*client, args, rows); !listed)
    return report(call, "history", listed.error());
  rows.end();
  return kOk;
}

}  // namespace holon::cli
