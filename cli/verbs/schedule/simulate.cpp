// holon simulate - a trace through the scheduler under a virtual clock.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "base/whole_file.hpp"
#include "cli/report/study.hpp"
#include "cli/show/progress.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/schedule/simulate_options.hpp"
#include "cli/verbs/schedule/simulate_tree.hpp"
#include "cli/verbs/schedule/simulated_config.hpp"
#include "config/config.hpp"
#include "config/policies.hpp"
#include "instance/resources/resources.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "sim/graph_machine.hpp"
#include "sim/schedule_file.hpp"
#include "sim/study.hpp"
#include "sim/trace_file.hpp"

namespace holon::cli {

namespace {

constexpr std::size_t kShownIssues = 10;

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) return fail(Errc::system, "it cannot be written", path);
  return {};
}

// "[###   ] 12345 of 28481 jobs" on a terminal, when it takes longer than a second.
class SimulationProgress {
 public:
  SimulationProgress(Io& io, std::size_t total)
      : io_(io), total_(total), begin_(Clock::now()), last_(begin_) {}
  ~SimulationProgress() {
    if (shown_) io_.err << kEraseDrawn << std::flush;
  }

  void operator()(std::size_t done) {
    const auto now = Clock::now();
    if (now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200))
      return;
    last_ = now;
    shown_ = true;
    io_.err << kEraseDrawn << simulation_line(done, total_, width_now(io_, STDERR_FILENO)) << "\r"
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

// Ticks of real time since the last question; less than one is kept for the next time.
class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t ticks_per_second)
      : tick_(std::chrono::steady_clock::duration(std::chrono::seconds(1)) / ticks_per_second) {}

  Duration operator()() {
    const auto now = std::chrono::steady_clock::now();
    rest_ += now - last_;
    last_ = now;
    const Duration whole = rest_ / tick_;
    rest_ -= whole * tick_;
    return whole;
  }

 private:
  std::chrono::steady_clock::duration tick_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration rest_{};
};

void tell_issues(Io& io, const std::string& path, const sim::SwfTrace& trace) {
  for (std::size_t i = 0; i < trace.issues.size() && i < kShownIssues; ++i) {
    const sim::TraceIssue& issue = trace.issues[i];
    io.err << issue_text(path, issue) << (issue.skipped ? "; the job is left out\n" : "\n");
  }
  if (trace.issue_count > 0)
    io.err << fmt::format("{}: {} issue{}, {} job{} left out, {} simulated\n", path,
                          trace.issue_count, trace.issue_count == 1 ? "" : "s", trace.skipped,
                          trace.skipped == 1 ? "" : "s", trace.workload.jobs.size());
}

// The trace's name without its folder and endings.
std::string title_of(const SimulateOptions& options) {
  if (!options.title.empty()) return options.title;
  std::filesystem::path name = std::filesystem::path(options.trace).filename();
  for (const char* ending : {".gz", ".swf", ".jsonl", ".json"})
    if (name.extension() == ending) name.replace_extension();
  return name.string();
}

// The facts that a reader of the report needs to make the same simulation again.
std::vector<std::pair<std::string, std::string>> facts_of(const SimulateOptions& options,
                                                          const sim::SwfTrace& trace,
                                                          const std::vector<sim::PolicyRun>& runs,
                                                          std::int64_t procs) {
  std::string conf;
  for (const auto& item : options.conf) conf += (conf.empty() ? "" : ", ") + item;
  const std::string machine = fmt::format("{} processors", procs);
  return {{"trace", options.trace},
          {"jobs", std::to_string(trace.workload.jobs.size())},
          {"machine", options.resources.empty() ? machine : options.resources + ", " + machine},
          {"order", options.order},
          {"waiting jobs that the scheduler tries", sim::depth_text(runs.front().depths)},
          {"configuration", conf.empty() ? "default" : conf},
          {"holon", HOLON_VERSION}};
}

Status write_results(const SimulateOptions& options, const sim::SwfTrace& trace,
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
  const auto page = study_page({title_of(options), facts_of(options, trace, runs, procs)},
                               trace.workload, runs, procs);
  return page ? write_file(options.report, *page) : tl::unexpected(page.error());
}

Result<sim::GraphMachine> graph_of(const std::string& resources) {
  const std::string where = "--resources " + resources;
  const auto source = instance::find_resources(resources);
  if (!source) return fail(Errc::invalid_argument, source.error().what, source.error().where);
  const auto spec = instance::read_resources(*source);
  auto machine = spec ? sim::graph_machine(*spec) : tl::unexpected(spec.error());
  if (machine) return machine;
  const Error& why = machine.error();
  const bool is_shape = source->kind == "shape" && why.code != Errc::out_of_range;
  if (is_shape) return machine;  // the place in the shape says enough
  return fail(Errc::invalid_argument, why.what,
              where + (why.where.empty() ? "" : ": " + why.where));
}

Result<sim::GraphMachine> flat_of(const Result<std::int64_t>& procs) {
  if (!procs) return tl::unexpected(procs.error());
  const auto make = [procs = *procs]() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::FlatMachine>(procs);
  };
  return sim::GraphMachine{make, *procs};
}

Result<std::vector<sim::PolicyRun>> study(Invocation& call, const SimulateOptions& options,
                                          const config::Config& config, const sim::SwfTrace& trace,
                                          const sim::GraphMachine& machine,
                                          sim::ScheduleFile& schedule) {
  sim::StudyPlan plan;
  plan.options.config =
      in_ticks(config.scheduler, options.queue_depth, trace.workload.ticks_per_second);
  plan.policies = options.policies();
  const bool alone = plan.policies.size() <= 1;
  plan.options.order = options.order == "event" ? sim::Order::event : sim::Order::batch;
  plan.procs = machine.cores;
  plan.machine = machine.machine;
  if (!options.resources.empty()) plan.request_of = sim::graph_request;
  // Measured time would be shared between runs side by side.
  plan.threads = options.charge_scheduler ? 1 : std::max(1U, std::thread::hardware_concurrency());
  SimulationProgress progress(call.io, trace.workload.jobs.size());
  if (call.io.err_terminal && !call.io.dumb && alone)
    plan.options.progress = [&](std::size_t done) { progress(done); };
  if (options.charge_scheduler) plan.options.charge = Stopwatch(trace.workload.ticks_per_second);
  if (!options.schedule.empty())
    plan.options.watch = [&](Time now, qmanager::Scheduler& scheduler,
                             const qmanager::StepResult& step) {
      schedule.record(now, scheduler, step);
    };
  return sim::run_study(trace.workload, plan);
}

}  // namespace

int verb_simulate(Invocation& call) {
  SimulateOptions options;
  if (const auto code = parse_options(call, options)) return *code;
  const auto failed = [&](const Error& error) { return report(call, "simulate", error); };
  auto config = config::load_config(options.conf, simulated_defaults());
  if (!config) return failed(config.error());
  if (Status read = config::add_policies(*config, options.policies()); !read)
    return failed(read.error());
  std::optional<sim::GraphMachine> graph;
  if (!options.resources.empty()) {
    auto described = graph_of(options.resources);
    if (!described) return failed(described.error());
    graph = std::move(*described);
  }
  std::int64_t procs = graph ? graph->cores : options.procs.value_or(0);
  if (!options.tree.empty()) {
    const auto tree = tree_of(options, 1);
    if (!tree) return failed(tree.error());
    procs = sim::processors_of(*tree);
  }
  const auto trace = sim::read_trace_file(options.trace, {.strict = options.strict,
                                                          .keep_overruns = options.keep_overruns,
                                                          .overrun = config->max_overrun,
                                                          .think_times = options.think_times,
                                                          .procs = procs});
  // A trace that cannot be read is a slip on the command line, as one that is no trace is.
  if (!trace) return failed({Errc::invalid_argument, trace.error().what, trace.error().where});
  tell_issues(call.io, options.trace, *trace);
  if (trace->workload.jobs.empty())
    return failed({Errc::invalid_argument, sim::why_no_jobs(*trace), options.trace});
  if (!options.tree.empty()) return simulate_on_tree(call, options, *trace, title_of(options));
  const auto machine = graph
                           ? Result<sim::GraphMachine>(std::move(*graph))
                           : flat_of(processors_of(options.trace, trace->workload, options.procs));
  if (!machine) return failed(machine.error());

  sim::ScheduleFile schedule(0, "flat", trace->workload.ticks_per_second);
  const auto runs = study(call, options, *config, *trace, *machine, schedule);
  if (!runs) return failed(runs.error());
  for (const sim::PolicyRun& run : *runs) tell_troubles(call.io, run);
  call.io.out << (options.json ? sim::metrics_json(*runs, options.timings)
                               : sim::metrics_table(*runs));
  if (Status ok = write_results(options, *trace, *runs, schedule, machine->cores); !ok)
    return failed(ok.error());
  return kOk;
}

}  // namespace holon::cli
