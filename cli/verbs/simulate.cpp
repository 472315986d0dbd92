// holon simulate - a trace through the scheduler under a virtual clock.
#include <atomic>
#include <chrono>
#include <fstream>
#include <ostream>
#include <thread>

#include <fmt/core.h>

#include "cli/parser.hpp"
#include "cli/verbs.hpp"
#include "instance/config.hpp"
#include "qmanager/flat_machine.hpp"
#include "sim/graph_machine.hpp"
#include "sim/report.hpp"
#include "sim/schedule_file.hpp"
#include "sim/study.hpp"
#include "sim/trace_file.hpp"

namespace holon::cli {

namespace {

constexpr Duration kConfigTicks = 1000;  // the configuration counts in ms, a simulation in s
constexpr std::size_t kShownIssues = 10;

struct Options {
  std::string trace;
  std::int64_t procs = 0;
  std::string resources;
  std::string policy;
  std::string compare;
  std::vector<std::string> conf;
  std::string order = "batch";
  std::optional<std::int64_t> queue_depth;
  std::string starts;
  std::string schedule;
  std::string report;
  std::string title;
  bool json = false;
  bool strict = false;
  bool keep_overruns = false;
  bool charge_scheduler = false;
  bool timings = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) return fail(Errc::system, "it cannot be written", path);
  return {};
}

// "simulating 12345 of 28481" on a terminal, when it takes longer than a second.
class Progress {
 public:
  Progress(Io& io, std::size_t total)
      : io_(io), total_(total), begin_(Clock::now()), last_(begin_) {}
  ~Progress() {
    if (shown_) io_.err << "\r\x1b[K" << std::flush;
  }

  void operator()(std::size_t done) {
    const auto now = Clock::now();
    if (now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200))
      return;
    last_ = now;
    shown_ = true;
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = kWidth * done / std::max<std::size_t>(total_, 1);
    io_.err << fmt::format("\r[{:<{}}] {} of {} jobs", std::string(filled, '#'), kWidth, done,
                           total_)
            << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Io& io_;
  std::size_t total_;
  Clock::time_point begin_;
  Clock::time_point last_;
  bool shown_ = false;
};

// Seconds of real time since it was last asked, rounded to the nearest.
class Stopwatch {
 public:
  Duration operator()() {
    const auto now = std::chrono::steady_clock::now();
    rest_ += now - last_;
    last_ = now;
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(rest_);
    rest_ -= whole;
    return whole.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration rest_{};
};

void tell_issues(Io& io, const std::string& path, const sim::SwfTrace& trace) {
  for (std::size_t i = 0; i < trace.issues.size() && i < kShownIssues; ++i) {
    const sim::TraceIssue& issue = trace.issues[i];
    io.err << fmt::format("{}:{}: {}: {}{}\n", path, issue.line, issue.field, issue.what,
                          issue.skipped ? "; the job is left out" : "");
  }
  if (trace.issue_count > 0)
    io.err << fmt::format("{}: {} issues, {} jobs left out, {} are simulated\n", path,
                          trace.issue_count, trace.skipped, trace.workload.jobs.size());
}

Result<qmanager::SchedulerConfig> configuration(const Options& options) {
  Result<instance::Config> loaded = instance::load_config(options.conf);
  if (!loaded) return tl::unexpected(loaded.error());
  qmanager::SchedulerConfig config = std::move(loaded->scheduler);
  const auto to_seconds = [&](qmanager::QueueConfig& queue) {
    queue.default_duration /= kConfigTicks;
    queue.duration_offset /= kConfigTicks;
    queue.chunk_duration /= kConfigTicks;
    // A replay is about the policy: the whole queue is looked at unless a depth is asked for.
    if (options.conf.empty()) queue.queue_depth = 1'000'000;
    queue.queue_depth = options.queue_depth.value_or(queue.queue_depth);
  };
  config.priority.ticks_per_second = 1;
  for (Duration* length : {&config.priority.interval, &config.priority.least_limit,
                           &config.priority.fairshare.interval})
    *length = std::max(*length / kConfigTicks, std::min<Duration>(*length, 1));
  for (auto& [credential, limits] : config.limits.of)
    for (std::int64_t* most : {&limits.proc_ticks.soft, &limits.proc_ticks.hard})
      if (*most != qmanager::kNoLimit) *most /= kConfigTicks;
  to_seconds(config.defaults);
  for (auto& [name, queue] : config.queues) to_seconds(queue);
  return config;
}

std::vector<std::string> policies(const Options& options, const qmanager::SchedulerConfig& config) {
  if (!options.compare.empty()) return split(options.compare);
  return {options.policy.empty() ? config.defaults.policy : options.policy};
}

Status write_results(const Options& options, const sim::SwfTrace& trace,
                     const std::vector<sim::PolicyRun>& runs, const sim::ScheduleFile& schedule,
                     std::int64_t procs) {
  if (!options.starts.empty())
    if (Status ok =
            write_file(options.starts, sim::starts_csv(trace.workload, runs.front().result));
        !ok)
      return ok;
  if (!options.schedule.empty())
    if (Status ok = write_file(options.schedule, schedule.text()); !ok) return ok;
  if (options.report.empty()) return {};
  const std::string title = options.title.empty() ? options.trace : options.title;
  return write_file(options.report, sim::html_report({title, trace.workload, runs, procs}));
}

// What --resources or --procs or the trace's header says.
Result<sim::GraphMachine> machine_of(const Options& options, const sim::SwfTrace& trace) {
  if (!options.resources.empty()) {
    std::ifstream file(options.resources, std::ios::binary);
    if (!file) return sim::graph_machine(options.resources);
    return sim::graph_machine({std::istreambuf_iterator<char>(file), {}});
  }
  const std::int64_t procs = options.procs > 0 ? options.procs : trace.workload.max_procs;
  if (procs <= 0)
    return fail(Errc::invalid_argument, "the trace does not say how large its machine is",
                "--procs");
  const auto make = [procs]() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::FlatMachine>(procs);
  };
  return sim::GraphMachine{make, procs};
}

Result<std::vector<sim::PolicyRun>> study(Invocation& call, const Options& options,
                                          const sim::SwfTrace& trace,
                                          const sim::GraphMachine& machine,
                                          sim::ScheduleFile& schedule) {
  Result<qmanager::SchedulerConfig> config = configuration(options);
  if (!config) return tl::unexpected(config.error());
  sim::StudyPlan plan;
  plan.policies = policies(options, *config);
  if (plan.policies.empty()) return fail(Errc::invalid_argument, "no policy is named", "--compare");
  const bool alone = plan.policies.size() == 1;
  if (!alone && !(options.starts.empty() && options.schedule.empty()))
    return fail(Errc::invalid_argument, "--starts and --schedule take one policy", "--compare");
  plan.options.config = std::move(*config);
  plan.options.order = options.order == "event" ? sim::Order::event : sim::Order::batch;
  plan.procs = machine.cores;
  plan.machine = machine.machine;
  if (!options.resources.empty()) plan.request_of = sim::graph_request;
  // Measured time would be shared between runs side by side.
  plan.threads = options.charge_scheduler ? 1 : std::max(1U, std::thread::hardware_concurrency());
  Progress progress(call.io, trace.workload.jobs.size());
  if (call.io.terminal && alone) plan.options.progress = [&](std::size_t done) { progress(done); };
  if (options.charge_scheduler) plan.options.charge = Stopwatch();
  if (!options.schedule.empty())
    plan.options.watch = [&](Time now, qmanager::Scheduler& scheduler,
                             const qmanager::StepResult& step) {
      schedule.record(now, scheduler, step);
    };
  return sim::run_study(trace.workload, plan);
}

}  // namespace

int verb_simulate(Invocation& call) {
  Options options;
  Parser parser("simulate", "replay a trace of jobs under a policy, in virtual time");
  parser.positional("TRACE", options.trace, "SWF or JSON Lines, plain or gzipped");
  parser.option("--procs", options.procs, "P",
                "processors of the machine (default: the trace's MaxProcs)");
  parser.option("--resources", options.resources, "SHAPE|FILE",
                "a resource graph instead: node=4/core=8, or a file with JGF or Rv1");
  parser.option("--policy", options.policy, "POLICY",
                "fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N] (default: of "
                "the configuration)");
  parser.option("--compare", options.compare, "POLICY,...", "several policies, side by side");
  parser.option("--conf", options.conf, "FILE|KEY=VALUE", "configuration, as of an instance");
  parser.option("--order", options.order, "batch|event",
                "one pass per instant (default), or one per event");
  parser.option("--queue-depth", options.queue_depth, "N",
                "jobs looked at in a pass (default: all)");
  parser.group("Results");
  parser.json(options.json);
  parser.flag("--timings", options.timings, "with --json: how long each simulation took");
  parser.option("--starts", options.starts, "FILE", "start times: job,submit,procs,req,run,start");
  parser.option("--schedule", options.schedule, "FILE",
                "every pass, in Grid Engine's monitoring format");
  parser.option("--report", options.report, "FILE", "a self-contained HTML page");
  parser.option("--title", options.title, "TEXT", "of the report");
  parser.group("Trace");
  parser.flag("--strict", options.strict, "stop at the first line that is not right");
  parser.flag("--keep-overruns", options.keep_overruns,
              "jobs that ran longer than their limit do so (default: cut there)");
  parser.flag("--charge-scheduler", options.charge_scheduler,
              "add the time that decisions really take to virtual time");
  parser.example("holon simulate kth.swf.gz --policy easy --starts easy.csv",
                 "start times under EASY");
  parser.example("holon simulate kth.swf.gz --compare fcfs,easy,conservative --report kth.html",
                 "policies side by side");
  if (const auto code = parser.parse(call)) return *code;
  const auto failed = [&](const Error& error) { return report(call, "simulate", error); };
  if (options.order != "batch" && options.order != "event")
    return failed({Errc::invalid_argument, "\"" + options.order + "\" is neither batch nor event",
                   "--order"});

  const auto trace = sim::read_trace_file(
      options.trace,
      {.strict = options.strict, .keep_overruns = options.keep_overruns, .procs = options.procs});
  if (!trace) return failed(trace.error());
  tell_issues(call.io, options.trace, *trace);
  const auto machine = machine_of(options, *trace);
  if (!machine) return failed(machine.error());
  if (trace->workload.jobs.empty())
    return failed({Errc::invalid_argument, "no job is left to simulate", options.trace});

  sim::ScheduleFile schedule;
  const auto runs = study(call, options, *trace, *machine, schedule);
  if (!runs) return failed(runs.error());
  if (Status ok = write_results(options, *trace, *runs, schedule, machine->cores); !ok)
    return failed(ok.error());
  call.io.out << (options.json ? sim::metrics_json(*runs, options.timings)
                               : sim::metrics_table(*runs));
  return kOk;
}

}  // namespace holon::cli
