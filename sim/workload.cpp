#include "sim/workload.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

namespace holon::sim {

void sort_by_submission(std::vector<TraceJob>& jobs) {
  const auto earlier = [](const TraceJob& a, const TraceJob& b) {
    return std::tie(a.submit, a.id) < std::tie(b.submit, b.id);
  };
  if (!std::is_sorted(jobs.begin(), jobs.end(), earlier))
    std::stable_sort(jobs.begin(), jobs.end(), earlier);
}

void settle_ticks(Workload& workload) {
  workload.ticks_per_second = kMsPerSecond;
  const auto has_fraction = [](const TraceJob& job) {
    return job.submit % kMsPerSecond != 0 || job.limit % kMsPerSecond != 0 ||
           job.run % kMsPerSecond != 0 || job.think % kMsPerSecond != 0;
  };
  if (std::any_of(workload.jobs.begin(), workload.jobs.end(), has_fraction)) return;
  workload.ticks_per_second = 1;
  for (TraceJob& job : workload.jobs)
    for (std::int64_t* time : {&job.submit, &job.limit, &job.run, &job.think})
      *time /= kMsPerSecond;
}

std::string seconds_text(std::int64_t ticks, std::int64_t ticks_per_second) {
  const std::int64_t rest = ticks % ticks_per_second;
  if (rest == 0) return std::to_string(ticks / ticks_per_second);
  std::string text =
      fmt::format("{:.3f}", static_cast<double>(ticks) / static_cast<double>(ticks_per_second));
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace holon::sim
