#include "sim/schedule_file.hpp"

#include <unordered_set>

#include <fmt/core.h>

namespace holon::sim {

void ScheduleFile::line(const qmanager::PlannedSpan& span, const char* state) {
  const auto resource = [&](char level, const std::string& object, const std::string& name,
                            std::int64_t amount) {
    text_ += fmt::format("{}:1:{}:{}:{}:{}:{}:{}:{}.000000\n", span.job.value(), state,
                         span.when.begin + epoch_, span.when.length(), level, object, name, amount);
  };
  for (const qmanager::Consumes& use : span.consumes) {
    const std::int64_t amount = use.per_slot ? use.amount * span.procs : use.amount;
    const std::size_t at = use.pool.find('@');
    const std::size_t slash = use.pool.find('/');
    if (slash != std::string::npos)
      resource('P', use.pool.substr(0, slash), "slots", amount);
    else if (at == std::string::npos)
      resource('G', "global", use.pool, amount);
    else if (!use.pool.starts_with("slots@"))
      resource('Q', fmt::format("{}@{}", span.queue, host_), use.pool.substr(0, at), amount);
  }
  resource('Q', fmt::format("{}@{}", span.queue, host_), "slots", span.procs);
}

void ScheduleFile::record(Time now, qmanager::Scheduler& scheduler,
                          const qmanager::StepResult& step) {
  std::unordered_set<JobId> starting;
  for (const qmanager::Decision& decision : step.decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision)) starting.insert(start->job);
  text_ += "::::::::\n";
  const std::vector<qmanager::PlannedSpan> plan = scheduler.plan(now);
  for (const auto& span : plan)
    if (!span.reserved && !starting.contains(span.job)) line(span, "RUNNING");
  for (const auto& span : plan)
    if (!span.reserved && starting.contains(span.job)) line(span, "STARTING");
  for (const auto& span : plan)
    if (span.reserved) line(span, "RESERVING");
}

}  // namespace holon::sim
