#include "cli/verbs/schedule/simulated_config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "cli/verbs/schedule/simulate_options.hpp"

namespace holon::cli {

config::Config simulated_defaults() {
  config::Config config;
  config.scheduler.defaults.queue_depth = kDeepestQueue;
  return config;
}

qmanager::SchedulerConfig in_ticks(qmanager::SchedulerConfig config,
                                   std::optional<std::int64_t> queue_depth,
                                   std::int64_t ticks_per_second) {
  const std::int64_t by = sim::kMsPerSecond / ticks_per_second;  // ms of a tick
  const auto to_ticks = [&](qmanager::QueueConfig& queue) {
    queue.default_duration /= by;
    queue.duration_offset /= by;
    queue.chunk_duration /= by;
    queue.reservation_retry /= by;
    queue.preempt.grace /= by;
    queue.queue_depth = queue_depth.value_or(queue.queue_depth);
  };
  config.show_length = [ticks_per_second](Duration ticks) {
    return sim::seconds_text(ticks, ticks_per_second) + " s";
  };
  config.priority.ticks_per_second = ticks_per_second;
  for (Duration* length : {&config.priority.interval, &config.priority.least_limit,
                           &config.priority.fairshare.interval})
    *length = std::max(*length / by, std::min<Duration>(*length, 1));
  config.limits.lengthen_ticks(by);
  to_ticks(config.defaults);
  for (auto& [name, queue] : config.queues) to_ticks(queue);
  return config;
}

Result<std::int64_t> processors_of(const std::string& file, const sim::Workload& workload,
                                   std::optional<std::int64_t> procs) {
  if (const std::int64_t known = procs.value_or(workload.max_procs); known > 0) return known;
  return fail(Errc::invalid_argument, "it has no MaxProcs: give --procs N", file);
}

std::string issue_text(const std::string& file, const sim::TraceIssue& issue) {
  const std::string column = issue.column == 0 ? "" : fmt::format(":{}", issue.column);
  return fmt::format("{}:{}{}: {}: {}", file, issue.line, column, issue.field, issue.what);
}

void tell_troubles(Io& io, const sim::PolicyRun& run) {
  for (const qmanager::QueueStatus& queue : run.result.queues) {
    if (!queue.hooks || queue.hooks->trouble.empty()) continue;
    const qmanager::HookStatus& hooks = *queue.hooks;
    io.err << fmt::format("{}: {} of {} calls gave no answer, and {} decided{}; the last one: {}\n",
                          run.name, hooks.troubles, hooks.calls, hooks.base,
                          hooks.given_up ? " from then on" : "", hooks.trouble);
  }
}

}  // namespace holon::cli
