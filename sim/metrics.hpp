// metrics.hpp - what a schedule was like for its users and for the machine.
//
// Wait is start - submit. Bounded slowdown is max(1, (wait + run) / max(run, tau)) with tau = 10 s
// (Feitelson et al., "Theory and Practice in Parallel Job Scheduling", JSSPP 1997). Only jobs that
// ran count. Waits are in seconds.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace holon::sim {

inline constexpr Duration kTau = 10;  // seconds

// Zeros if there is no job. A percentile is the smallest value that so many percent of the jobs do
// not exceed.
struct Distribution {
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
};

struct SizeClass {
  std::string name;  // "5-16"
  std::size_t jobs = 0;
  Distribution wait;
  Distribution bounded_slowdown;
};

struct Metrics {
  std::size_t jobs = 0;     // jobs that ran
  std::size_t refused = 0;  // jobs that did not
  Distribution wait;
  Distribution bounded_slowdown;
  Duration makespan = 0;   // ticks of the workload; from the first submission to the last end
  double utilization = 0;  // processor-seconds used of those there were over the makespan, 0 to 1
  double backfilled_share = 0;   // of the jobs that ran, 0 to 1
  double overtaking_share = 0;   // started while one submitted earlier still waited; likewise
  std::size_t preempted = 0;     // times that a job had to give its place
  double lost_share = 0;         // of the processor-seconds there were, what those had done, 0 to 1
  std::vector<SizeClass> sizes;  // those that have jobs, by processors
};

Metrics measure(const Workload& workload, const SimResult& result, std::int64_t procs);

}  // namespace holon::sim
