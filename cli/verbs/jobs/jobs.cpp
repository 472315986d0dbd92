// holon jobs: the table of jobs.
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "base/names.hpp"
#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_fields.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/glob.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kMostOnATerminal = 1'000;  // lines

struct JobsArgs {
  msg::JobsRequest request;
  std::int64_t limit = 0;
  bool json = false;
  bool stats = false;
  std::vector<const JobField*> fields;  // empty: the usual ones
  std::vector<SortKey> order;
  std::vector<std::string> ids;
};

std::vector<const JobField*> usual_fields(bool with_paths) {
  const std::string id = with_paths ? "path" : "id";
  return *parse_fields(id + ",name,state,nodes,cores,gpus,time,limit,info");
}

// The lines of jobs that come page by page.
class Lines {
 public:
  Lines(Invocation& call, const JobsArgs& args)
      : call_(call),
        args_(args),
        fields_(args.fields.empty() ? usual_fields(args.request.recursive) : args.fields),
        table_(columns_of(fields_)),
        now_(instance::wall_clock_ms()) {}

  void add(const std::vector<msg::JobRecord>& jobs, bool more) {
    if (!args_.request.ids.empty())
      for (const auto& job : jobs) shown_.insert(job.id);
    if (args_.json) {
      call_.io.out << json_.next(jobs);
      return;
    }
    for (const auto& job : jobs) add_row(job);
    call_.io.out << table_.render_next(call_.io, more) << std::flush;
  }

  bool is_empty() const { return lines_ == 0 && shown_.empty(); }
  bool has(std::uint64_t id) const { return shown_.contains(id); }
  // A person does not read more lines than kMostOnATerminal.
  bool has_bound() const { return call_.io.terminal && !args_.json; }
  // Notes how many jobs there are in each state, shown or not. Are all running ones shown?
  void cut(const std::vector<msg::StateCount>& counts, bool has_running) {
    counts_.clear();
    std::uint64_t all = 0;
    for (const auto& [state, jobs] : counts) {
      count(state, jobs);
      all += jobs;
    }
    std::string words;
    for (const auto& word : call_.args) words += " " + printable(word);
    hint_ += fmt::format("; the last {} of {} are listed{}; holon jobs{} | less has all", lines_,
                         all, has_running ? ", and all that run" : "", words);
  }

  void end() {
    if (args_.json)
      call_.io.out << json_.end();
    else if (call_.io.terminal && !counts_.empty())
      call_.io.out << paint(call_.io, Colour::dim, summary() + hint_) << "\n";
  }

 private:
  void add_row(const msg::JobRecord& job) {
    std::vector<Table::Cell> row;
    for (const auto* field : fields_)
      row.push_back(cell_of(call_.io, *field, job, now_, !args_.fields.empty()));
    table_.add(std::move(row));
    ++lines_;
    count(msg::state_word(job), 1);
    if (hint_.empty() && (job.state == "SCHED" || job.state == "DEPEND"))
      hint_ = fmt::format("; holon explain {} says more about a wait", msg::shown_path(job));
  }

  void count(const std::string& state, std::uint64_t jobs) {
    const bool waits =
        state == "NEW" || state == "DEPEND" || state == "PRIORITY" || state == "SCHED";
    const bool runs = state == "RUN" || state == "CLEANUP";
    counts_[waits ? "PENDING" : runs ? "RUNNING" : state] += jobs;
  }

  // "3 running, 2 pending, 40 completed, 1 failed"
  std::string summary() const {
    std::string text;
    for (const char* status : {"RUNNING", "SUSPENDED", "PENDING", "COMPLETED", "FAILED", "TIMEOUT",
                               "CANCELED", "REJECTED"}) {
      const auto count = counts_.find(status);
      if (count == counts_.end()) continue;
      std::string word = status;
      for (char& c : word) c = static_cast<char>(std::tolower(c));
      if (word == "canceled") word = "cancelled";  // the state is Flux's word, this is ours
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count->second, word);
    }
    return text;
  }

  Invocation& call_;
  const JobsArgs& args_;
  std::vector<const JobField*> fields_;
  Table table_;
  JsonJobs json_;
  Time now_;
  std::map<std::string, std::uint64_t> counts_;
  std::size_t lines_ = 0;
  std::set<std::uint64_t> shown_;
  std::string hint_;
};

// Lists running jobs and, of the others, the newest.
Status list_latest(Client& client, const msg::JobsRequest& ask,
                   const std::vector<msg::StateCount>& counts, Lines& lines) {
  std::map<std::uint64_t, msg::JobRecord> jobs;
  const auto add = [&](msg::JobsRequest part) -> Status {
    part.limit = kMostOnATerminal - std::min(jobs.size(), kMostOnATerminal - 1);
    auto listed = client.jobs(part);
    if (!listed) return tl::unexpected(listed.error());
    for (auto& job : listed->jobs) jobs.emplace(job.id, std::move(job));
    return {};
  };
  msg::JobsRequest running = ask;
  running.filter.states = {"RUNNING"};
  bool has_running = ask.filter.states.empty();
  if (has_running)
    if (auto added = add(running); !added) return added;
  has_running = has_running && jobs.size() < kMostOnATerminal;
  if (auto added = add(ask); !added) return added;
  std::vector<msg::JobRecord> list;
  for (auto& [id, job] : jobs) list.push_back(std::move(job));
  lines.add(list, false);
  lines.cut(counts, has_running);
  return {};
}

// Lists jobs in the order of their paths, or as asked. Pages come in that order, unless jobs below
// instances or only the newest are asked for.
Status list(Client& client, const JobsArgs& args, Lines& lines) {
  const auto& ask = args.request;
  if (ask.recursive || ask.limit > 0 || !ask.ids.empty() || !args.order.empty()) {
    auto all = client.jobs(args.request);
    if (!all) return tl::unexpected(all.error());
    sort_jobs(all->jobs, args.order, instance::wall_clock_ms());
    lines.add(all->jobs, false);
    return {};
  }
  if (lines.has_bound() && !ask.tasks) {
    const auto counts = client.count_jobs(ask);
    if (!counts) return tl::unexpected(counts.error());
    std::uint64_t all = 0;
    for (const auto& count : *counts) all += count.jobs;
    if (all > kMostOnATerminal) return list_latest(client, ask, *counts, lines);
  }
  return client.each_page(ask, [&lines](const std::vector<msg::JobRecord>& page, bool more) {
    lines.add(page, more);
    return true;
  });
}

// Counts the records of a tree here: a path may come twice.
Result<std::vector<msg::StateCount>> counts_of(Client& client, const JobsArgs& args) {
  if (!args.request.recursive) return client.count_jobs(args.request);
  const auto all = client.jobs(args.request);
  if (!all) return tl::unexpected(all.error());
  std::map<std::string, std::uint64_t> counts;
  for (const auto& job : all->jobs) ++counts[msg::state_word(job)];
  std::vector<msg::StateCount> list;
  for (const auto& [state, jobs] : counts) list.push_back({state, jobs});
  return list;
}

// Names, beside jobs that are named, the tasks of those that are arrays.
Status name_tasks(Client& client, msg::JobsRequest& request) {
  msg::JobsRequest ask;
  ask.all = true;
  ask.ids = request.ids;
  const auto named = client.jobs(ask);
  if (!named) return tl::unexpected(named.error());
  for (const auto& job : named->jobs) {
    if (job.tasks == 0) continue;
    const auto tasks = tasks_of(client, job.id, "");
    if (!tasks) return tl::unexpected(tasks.error());
    request.ids.insert(request.ids.end(), tasks->begin(), tasks->end());
  }
  request.tasks = false;
  return {};
}

Status show_counts(Invocation& call, Client& client, const JobsArgs& args) {
  const auto counts = counts_of(client, args);
  if (!counts) return tl::unexpected(counts.error());
  if (args.json) {
    call.io.out << json_text(*counts);
    return {};
  }
  Table table({{"STATE", Table::Align::left}, {"JOBS", Table::Align::right}});
  for (const auto& [state, jobs] : *counts) table.add({{state}, {std::to_string(jobs)}});
  call.io.out << table.render(call.io);
  return {};
}

// Named jobs that are missing, except where a filter may have left them out.
std::vector<std::uint64_t> unknown_ids(const JobsArgs& args, const Lines& lines) {
  std::vector<std::uint64_t> unknown;
  const auto& filter = args.request.filter;
  const bool leaves_out = !filter.states.empty() || filter.since > 0 || !filter.user.empty() ||
                          !filter.name.empty() || !filter.queue.empty();
  if (leaves_out || args.request.recursive || args.request.limit > 0 || lines.is_empty())
    return unknown;
  for (const auto id : args.request.ids)
    if (!lines.has(id)) unknown.push_back(id);
  return unknown;
}

// Tells that a user is unknown: an empty table would look as if the name were right.
void tell_unknown_user(Invocation& call, Client& client, const std::string& user) {
  errno = 0;
  if (user.empty() || getpwnam(user.c_str()) != nullptr || could_not_ask(errno)) return;
  msg::JobsRequest request;
  request.all = true;
  request.filter.user = user;
  const auto counts = client.count_jobs(request);
  if (counts &&
      std::all_of(counts->begin(), counts->end(), [](const auto& c) { return c.jobs == 0; }))
    call.io.err << fmt::format("holon jobs: --user {}: there is no such user, and no job of one\n",
                               printable(user));
}

Status read_states(const std::string& text, msg::JobFilter& filter) {
  filter.states.assign(1, "");
  for (const char c : text)
    if (c == ',')
      filter.states.emplace_back();
    else
      filter.states.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  auto known = msg::check_filter(filter);
  if (!known) return fail(Errc::invalid_argument, known.error().what);
  return {};
}

// True: the options already mean jobs that are over, without -a.
bool means_all(const JobsArgs& args) {
  const auto& filter = args.request.filter;
  return args.stats || filter.since > 0 || !args.ids.empty() || msg::asks_for_ended(filter);
}

template <class Target>
Status keep(Result<Target> read, Target& target) {
  if (!read) return tl::unexpected(read.error());
  target = std::move(*read);
  return {};
}

void add_filters(Parser& parser, JobsArgs& args) {
  auto& filter = args.request.filter;
  parser.group("Which jobs")
      .option(
          "--filter", [&](const std::string& text) { return read_states(text, filter); },
          "STATE,...", "in one of these states: pending, running, failed, timeout, ...")
      .option(
          "--since",
          [&](const std::string& text) {
            return keep(parse_since(text, instance::wall_clock_ms()), filter.since);
          },
          "TIME", "that are not over, or ended since: -2h, 18:30, 2026-12-24T18:30")
      .option("--user", filter.user, "NAME", "of this user")
      .option("--name", filter.name, "GLOB", "with such a name: 'sweep-*'")
      .option("--queue", filter.queue, "NAME", "of this queue")
      .option("--limit", args.limit, "N", "the newest N only");
  parser.group("How they are shown")
      .option(
          "--sort", [&](const std::string& text) { return keep(parse_sort(text), args.order); },
          "FIELD,...", "in this order; -FIELD is descending: -time,name")
      .option(
          "--format",
          [&](const std::string& text) { return keep(parse_fields(text), args.fields); },
          "FIELD,...", "these columns, - where there is nothing: id,name,wait,code")
      .flag("--stats", args.stats, "only how many there are in each state");
}

std::string names_of_fields() {
  std::string names;
  for (const auto& field : job_fields())
    names += (names.empty() ? "" : ", ") + std::string(field.name);
  return names;
}

}  // namespace

int verb_jobs(Invocation& call) {
  JobsArgs args;
  Parser parser("jobs", "list jobs");
  parser
      .positional("ID", args.ids,
                  "only these: 7, 3-9, tasks 7.12, 7.3-9; all pending and running ones otherwise")
      .group("Options")
      .flag("-a,--all", args.request.all, "jobs that are over, too")
      .flag("-R,--recursive", args.request.recursive,
            "jobs of child instances, too, whether these still live or not")
      .flag("--tasks", args.request.tasks, "behind each array its tasks")
      .instance(call)
      .json(args.json);
  add_filters(parser, args);
  parser
      .note(
          "A name that ends in / is a child instance. An array is one line, with how many of its "
          "tasks "
          "wait, run and are over in which way. TIME is how long a job ran or has been "
          "running. Why a job waits in full, and what would let it start now: holon explain ID.")
      .note(
          "--filter takes states and results, and pending and running for several states; with "
          "one that jobs have at their end, with --since and with --stats jobs that are over "
          "are looked at, too.")
      .note(
          "On a terminal what runs and the newest are listed, a thousand in all, and how many "
          "there are.")
      .note("FIELDs are " + names_of_fields() + ".")
      .example("holon jobs --filter failed --since -2h --sort -end", "what went wrong lately")
      .example("holon jobs -a", "everything this instance has seen")
      .example("holon jobs -R -a --json", "the whole tree's history, for a program");
  if (const auto code = parser.parse(call)) return *code;
  if (args.limit < 0)
    return report(call, "jobs",
                  {Errc::invalid_argument,
                   fmt::format("{} is not accepted, at least 0 (all) is", args.limit), "--limit"});
  if (auto good = msg::check_glob(args.request.filter.name); !good)
    return report(call, "jobs", {good.error().code, good.error().what, "--name"});
  args.request.limit = static_cast<std::uint64_t>(args.limit);
  auto selected = connect_to_jobs(call, args.ids);
  if (!selected) return report(call, "jobs", selected.error());
  args.request.ids = std::move(selected->ids);
  args.request.all = args.request.all || means_all(args);
  if (args.request.tasks && !args.request.ids.empty())
    if (auto known = name_tasks(selected->client, args.request); !known)
      return report(call, "jobs", known.error());
  if (args.stats) {
    const auto shown = show_counts(call, selected->client, args);
    return shown ? kOk : report(call, "jobs", shown.error());
  }
  Lines lines(call, args);
  if (const auto listed = list(selected->client, args, lines); !listed)
    return report(call, "jobs", listed.error());
  lines.end();
  if (const auto unknown = unknown_ids(args, lines); !unknown.empty()) {
    for (const auto id : unknown)
      call.io.err << fmt::format("holon jobs: there is no job {}\n", id);
    return kFailed;
  }
  if (!args.json && lines.is_empty())
    tell_unknown_user(call, selected->client, args.request.filter.user);
  return kOk;
}

}  // namespace holon::cli
