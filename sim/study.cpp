#include "sim/study.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include <fmt/core.h>

namespace holon::sim {

namespace {

using StudyJson = nlohmann::ordered_json;

std::map<std::string, std::int64_t> depths_of(const qmanager::SchedulerConfig& config) {
  std::map<std::string, std::int64_t> depths;
  const auto add = [&](const std::string& name, const qmanager::QueueConfig& queue) {
    depths[name] = std::min(queue.queue_depth, queue.max_queue_depth);
  };
  for (const auto& [name, queue] : config.queues) add(name, queue);
  if (depths.empty()) add(config.default_queue, config.defaults);
  return depths;
}

// The policies as "easy", or by queue: "easy of queue batch, conservative of queue debug".
std::string configured_policies(const qmanager::SchedulerConfig& config) {
  if (config.queues.empty()) return config.defaults.policy;
  const std::string& first = config.queues.begin()->second.policy;
  if (std::all_of(config.queues.begin(), config.queues.end(),
                  [&](const auto& queue) { return queue.second.policy == first; }))
    return first;
  std::string list;
  for (const auto& [name, queue] : config.queues)
    list += fmt::format("{}{} of queue {}", list.empty() ? "" : ", ", queue.policy, name);
  return list;
}

// Runs one policy; without one each queue has its own.
Result<PolicyRun> run_policy(const Workload& workload, const StudyPlan& plan,
                             const std::string* policy) {
  SimOptions options = plan.options;
  if (policy != nullptr) {
    options.config.defaults.policy = *policy;
    for (auto& [name, queue] : options.config.queues) queue.policy = *policy;
  }
  Result<std::unique_ptr<qmanager::Machine>> machine = plan.machine();
  if (!machine) return tl::unexpected(machine.error());
  const auto before = std::chrono::steady_clock::now();
  Result<SimResult> result = simulate(workload, std::move(*machine), options, plan.request_of);
  if (!result) return tl::unexpected(result.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  PolicyRun run{policy != nullptr ? *policy : configured_policies(options.config),
                depths_of(options.config),
                std::move(*result),
                {},
                took.count(),
                workload.ticks_per_second};
  run.metrics = measure(workload, run.result, plan.procs);
  return run;
}

// Seconds; a whole number if they are one.
StudyJson in_json_seconds(Duration ticks, std::int64_t ticks_per_second) {
  if (ticks % ticks_per_second == 0) return ticks / ticks_per_second;
  return static_cast<double>(ticks) / static_cast<double>(ticks_per_second);
}

StudyJson to_json(const Distribution& d) {
  return {{"mean", d.mean}, {"median", d.median}, {"p95", d.p95}, {"max", d.max}};
}

std::string metric_titles() {
  return fmt::format(" {:>10} {:>9} {:>10} {:>10} {:>9} {:>8} {:>10}", "WAIT mean", "median", "p95",
                     "max", "BSLD mean", "median", "p95");
}

// Where times have fractions, so have waits: the longest of them would be below their mean.
std::string metric_cells(const Distribution& wait, const Distribution& slowdown,
                         std::int64_t ticks_per_second) {
  const int digits = ticks_per_second > 1 ? 1 : 0;
  return fmt::format(" {:>10.1f} {:>9.{}f} {:>10.{}f} {:>10.{}f} {:>9.3f} {:>8.2f} {:>10.2f}",
                     wait.mean, wait.median, digits, wait.p95, digits, wait.max, digits,
                     slowdown.mean, slowdown.median, slowdown.p95);
}

}  // namespace

Result<std::vector<PolicyRun>> run_study(const Workload& workload, const StudyPlan& plan) {
  const bool configured = plan.policies.empty();
  std::vector<Result<PolicyRun>> runs(configured ? 1 : plan.policies.size(),
                                      fail(Errc::invalid_argument, "not run"));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++)
      runs[i] = run_policy(workload, plan, configured ? nullptr : &plan.policies[i]);
  };
  std::vector<std::jthread> helpers;
  for (unsigned t = 1; t < plan.threads && t < plan.policies.size(); ++t)
    helpers.emplace_back(work);
  work();
  helpers.clear();
  std::vector<PolicyRun> done;
  for (Result<PolicyRun>& run : runs) {
    if (!run) return tl::unexpected(run.error());
    done.push_back(std::move(*run));
  }
  return done;
}

std::string depth_text(const std::map<std::string, std::int64_t>& depths) {
  const auto text = [](std::int64_t depth) {
    return depth >= qmanager::kMaxQueueDepth ? std::string("all") : std::to_string(depth);
  };
  const std::int64_t first = depths.begin()->second;
  if (std::all_of(depths.begin(), depths.end(), [&](const auto& d) { return d.second == first; }))
    return text(first);
  std::string list;
  for (const auto& [name, depth] : depths)
    list += fmt::format("{}{} of queue {}", list.empty() ? "" : ", ", text(depth), name);
  return list;
}

std::string metrics_summary(const std::vector<PolicyRun>& runs) {
  std::size_t width = 22;
  for (const PolicyRun& run : runs) width = std::max(width, run.name.size());
  std::string text = fmt::format("{:<{}} {:>8}{} {:>6} {:>9} {:>6}\n", "POLICY", width, "JOBS",
                                 metric_titles(), "UTIL", "MAKESPAN", "BACKF");
  for (const PolicyRun& run : runs) {
    const Metrics& m = run.metrics;
    text += fmt::format("{:<{}} {:>8}{} {:>5.1f}% {:>9} {:>5.1f}%\n", run.name, width, m.jobs,
                        metric_cells(m.wait, m.bounded_slowdown, run.ticks_per_second),
                        100 * m.utilization, seconds_text(m.makespan, run.ticks_per_second),
                        100 * m.backfilled_share);
  }
  for (const PolicyRun& run : runs)
    if (const Metrics& m = run.metrics; m.preempted > 0)
      text += fmt::format("{}: {} preemptions, by which {:.1f}% of the machine's time were lost\n",
                          run.name, m.preempted, 100 * m.lost_share);
  if (!runs.empty())
    text +=
        fmt::format("waiting jobs that the scheduler tries: {}\n", depth_text(runs.front().depths));
  return text;
}

std::string metrics_table(const std::vector<PolicyRun>& runs) {
  std::string text = metrics_summary(runs);
  for (const PolicyRun& run : runs) {
    text += fmt::format("\n{} by processors\n{:<10} {:>8}{}\n", run.name, "SIZE", "JOBS",
                        metric_titles());
    for (const SizeClass& size : run.metrics.sizes)
      text += fmt::format("{:<10} {:>8}{}\n", size.name, size.jobs,
                          metric_cells(size.wait, size.bounded_slowdown, run.ticks_per_second));
  }
  text +=
      fmt::format("\nwaits and makespan in seconds; BSLD: bounded slowdown, tau = {} s\n", kTau);
  return text;
}

std::string metrics_json(const std::vector<PolicyRun>& runs, bool timings) {
  StudyJson all = StudyJson::array();
  for (const PolicyRun& run : runs) {
    const Metrics& m = run.metrics;
    StudyJson sizes = StudyJson::array();
    for (const SizeClass& size : m.sizes)
      sizes.push_back({{"procs", size.name},
                       {"jobs", size.jobs},
                       {"wait", to_json(size.wait)},
                       {"bounded_slowdown", to_json(size.bounded_slowdown)}});
    StudyJson object = {{"policy", run.name},
                        {"jobs", m.jobs},
                        {"refused", m.refused},
                        {"mean_wait", m.wait.mean},
                        {"mean_bounded_slowdown", m.bounded_slowdown.mean},
                        {"utilization", m.utilization},
                        {"makespan", in_json_seconds(m.makespan, run.ticks_per_second)},
                        {"backfilled_share", m.backfilled_share},
                        {"overtaking_share", m.overtaking_share},
                        {"passes", run.result.passes},
                        {"queue_depth", run.depths},
                        {"wait", to_json(m.wait)},
                        {"bounded_slowdown", to_json(m.bounded_slowdown)},
                        {"sizes", std::move(sizes)}};
    if (m.preempted > 0) object["preempted"] = m.preempted, object["lost"] = m.lost_share;
    if (timings) object["seconds"] = run.seconds;
    all.push_back(std::move(object));
  }
  return all.dump(2) + "\n";
}

std::string starts_csv(const Workload& workload, const SimResult& result) {
  const auto shown = [&](Time ticks) { return seconds_text(ticks, workload.ticks_per_second); };
  std::string csv = "job,submit,procs,req,run,start\n";
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const TraceJob& job = workload.jobs[i];
    if (result.jobs[i].start)
      csv += fmt::format("{},{},{},{},{},{}\n", job.id, shown(result.jobs[i].submitted), job.procs,
                         shown(job.limit), shown(job.run), shown(*result.jobs[i].start));
  }
  return csv;
}

}  // namespace holon::sim
