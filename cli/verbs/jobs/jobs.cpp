// holon jobs: the table of jobs.
#include <fmt/format.h>

#include <map>
#include <ostream>
#include <utility>

#include "cli/connect.hpp"
#include "cli/options/parser.hpp"
#include "cli/outcome.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/clock.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kLongestName = 20;  // columns

struct JobsArgs {
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

// The lines of jobs that come page by page.
class Lines {
 public:
  Lines(Invocation& call, const JobsArgs& args)
      : call_(call), args_(args), table_(columns_of(args)), now_(instance::wall_clock_ms()) {}

  void add(const std::vector<msg::JobRecord>& jobs, bool more) {
    if (args_.json) {
      call_.io.out << json_.next(jobs);
      return;
    }
    for (const auto& job : jobs) add_row(job);
    call_.io.out << table_.render_next(call_.io, more) << std::flush;
  }

  void end() {
    if (args_.json)
      call_.io.out << json_.end();
    else if (call_.io.terminal && !counts_.empty())
      call_.io.out << paint(call_.io, Colour::dim, summary() + hint_) << "\n";
  }

 private:
  static std::vector<Table::Column> columns_of(const JobsArgs& args) {
    using enum Table::Align;
    return {{args.request.recursive ? "PATH" : "ID", args.request.recursive ? left : right},
            {"NAME", left},
            {"STATE", left},
            {"NODES", right},
            {"CORES", right},
            {"GPUS", right},
            {"TIME", right},
            {"LIMIT", right},
            {"INFO", left}};
  }

  void add_row(const msg::JobRecord& job) {
    const std::string name = job.is_instance ? job.name + "/" : job.name;
    table_.add({{args_.request.recursive ? job.path : std::to_string(job.id)},
                {shorten(call_.io, name, kLongestName)},
                {status_of(job), colour_of(job)},
                {job.nnodes > 0 ? std::to_string(job.nnodes) : ""},
                {cores_of(job)},
                {job.ngpus > 0 ? std::to_string(job.ngpus) : ""},
                {runtime_of(job, now_)},
                {job.limit > 0 ? show_duration(job.limit) : ""},
                {details_of(job, now_)}});
    const std::string status = status_of(job);
    const bool ended = job.state == "INACTIVE";
    ++counts_[ended ? status : status == "RUN" || status == "CLEANUP" ? "RUNNING" : "PENDING"];
    if (hint_.empty() && (job.state == "SCHED" || job.state == "DEPEND"))
      hint_ = fmt::format("; holon explain {} says more about a wait", job.path);
  }

  // "3 running, 2 pending, 40 completed, 1 failed"
  std::string summary() const {
    std::string text;
    for (const char* status :
         {"RUNNING", "PENDING", "COMPLETED", "FAILED", "TIMEOUT", "CANCELED", "REJECTED"}) {
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
  Table table_;
  JsonJobs json_;
  Time now_;
  std::map<std::string, std::size_t> counts_;
  std::string hint_;
};

// In the order of their paths. Pages come in that order unless what is below instances, or the
// newest only, are asked for.
Status list(Client& client, const JobsArgs& args, Lines& lines) {
  if (args.request.recursive || args.request.limit > 0 || !args.request.ids.empty()) {
    const auto all = client.jobs(args.request);
    if (!all) return tl::unexpected(all.error());
    lines.add(all->jobs, false);
    return {};
  }
  return client.each_page(args.request,
                          [&lines](const std::vector<msg::JobRecord>& page, bool more) {
                            lines.add(page, more);
                            return true;
                          });
}

}  // namespace

int verb_jobs(Invocation& call) {
  JobsArgs args;
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
  Lines lines(call, args);
  if (const auto listed = list(selected->client, args, lines); !listed)
    return report(call, "jobs", listed.error());
  lines.end();
  return kOk;
}

}  // namespace holon::cli
