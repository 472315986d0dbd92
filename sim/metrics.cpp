#include "sim/metrics.hpp"

#include <algorithm>
#include <cmath>

namespace holon::sim {

namespace {

struct Class {
  const char* name;
  std::int64_t most;
};
constexpr std::array<Class, 7> kClasses = {{{"1", 1},
                                            {"2-4", 4},
                                            {"5-16", 16},
                                            {"17-64", 64},
                                            {"65-256", 256},
                                            {"257-1024", 1024},
                                            {">1024", INT64_MAX}}};

double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Distribution distribution(std::vector<double> values) {
  if (values.empty()) return {};
  double sum = 0;
  for (double value : values) sum += value;  // in the order of the jobs: the same bits each time
  std::sort(values.begin(), values.end());
  return {sum / static_cast<double>(values.size()), percentile(values, 0.5),
          percentile(values, 0.95), values.back()};
}

struct Sample {
  std::vector<double> wait;
  std::vector<double> slowdown;
};

// The number of jobs that started while one submitted before them still waited.
std::size_t count_overtaking(const SimResult& result) {
  std::vector<const JobOutcome*> started;
  for (const JobOutcome& outcome : result.jobs)
    if (outcome.start) started.push_back(&outcome);
  std::stable_sort(started.begin(), started.end(),
                   [](const auto* a, const auto* b) { return a->submitted < b->submitted; });
  std::size_t overtaking = 0;
  Time last = INT64_MIN;  // start of those before
  for (const JobOutcome* outcome : started) {
    overtaking += *outcome->start < last;
    last = std::max(last, *outcome->start);
  }
  return overtaking;
}

}  // namespace

Metrics measure(const Workload& workload, const SimResult& result, std::int64_t procs) {
  const auto ticks = static_cast<double>(workload.ticks_per_second);
  Metrics metrics;
  Sample all;
  std::array<Sample, kClasses.size()> by_size;
  double used = 0, lost = 0;
  std::size_t backfilled = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const TraceJob& job = workload.jobs[i];
    const JobOutcome& outcome = result.jobs[i];
    for (const Interval& run : outcome.lost) {
      ++metrics.preempted;
      lost += static_cast<double>(run.length() * job.procs);
    }
    if (!outcome.start) {
      ++metrics.refused;
      continue;
    }
    const double wait = static_cast<double>(*outcome.start - outcome.submitted) / ticks;
    const double run = static_cast<double>(job.run) / ticks;
    const double slowdown = std::max(1.0, (wait + run) / std::max(run, static_cast<double>(kTau)));
    Sample& sized = by_size[static_cast<std::size_t>(
        std::find_if(kClasses.begin(), kClasses.end(),
                     [&](const Class& c) { return job.procs <= c.most; }) -
        kClasses.begin())];
    for (Sample* sample : {&all, &sized}) {
      sample->wait.push_back(wait);
      sample->slowdown.push_back(slowdown);
    }
    used += static_cast<double>(job.run) * static_cast<double>(job.procs);
    backfilled += outcome.selection == qmanager::Selection::backfill;
  }
  metrics.jobs = all.wait.size();
  if (metrics.jobs == 0) return metrics;
  metrics.makespan = result.end - result.first_submit;
  const double capacity = static_cast<double>(procs) * static_cast<double>(metrics.makespan);
  if (capacity > 0) {  // jobs of no time leave none
    metrics.utilization = used / capacity;
    metrics.lost_share = lost / capacity;
  }
  metrics.backfilled_share = static_cast<double>(backfilled) / static_cast<double>(metrics.jobs);
  metrics.overtaking_share =
      static_cast<double>(count_overtaking(result)) / static_cast<double>(metrics.jobs);
  metrics.wait = distribution(std::move(all.wait));
  metrics.bounded_slowdown = distribution(std::move(all.slowdown));
  for (std::size_t c = 0; c < kClasses.size(); ++c)
    if (!by_size[c].wait.empty())
      metrics.sizes.push_back({kClasses[c].name, by_size[c].wait.size(),
                               distribution(by_size[c].wait), distribution(by_size[c].slowdown)});
  return metrics;
}

}  // namespace holon::sim
