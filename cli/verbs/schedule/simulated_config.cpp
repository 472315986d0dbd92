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

qmanager::SchedulerConfig in_seconds(qmanager::SchedulerConfig config,
                                     std::optional<std::int64_t> queue_depth) {
  const auto to_seconds = [&](qmanager::QueueConfig& queue) {
    queue.default_duration /= kConfigTicks;
    queue.duration_offset /= kConfigTicks;
    queue.chunk_duration /= kConfigTicks;
    queue.reservation_retry /= kConfigTicks;
    queue.preempt.grace /= kConfigTicks;
    queue.queue_depth = queue_depth.value_or(queue.queue_depth);
  };
  config.show_length = [](Duration seconds) { return fmt::format("{} s", seconds); };
  config.priority.ticks_per_second = 1;
  for (Duration* length : {&config.priority.interval, &config.priority.least_limit,
                           &config.priority.fairshare.interval})
    *length = std::max(*length / kConfigTicks, std::min<Duration>(*length, 1));
  config.limits.lengthen_ticks(kConfigTicks);
  to_seconds(config.defaults);
  for (auto& [name, queue] : config.queues) to_seconds(queue);
  return config;
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
