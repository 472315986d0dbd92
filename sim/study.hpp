// study.hpp - one workload under one or several policies: running them, and saying how they did.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/metrics.hpp"
#include "sim/simulate.hpp"

namespace holon::sim {

// A policy of a study and how it did.
struct PolicyRun {
  std::string name;
  std::map<std::string, std::int64_t> depths;  // jobs looked at in a pass, by queue
  SimResult result;
  Metrics metrics;
  double seconds = 0;                 // of real time that the simulation took
  std::int64_t ticks_per_second = 1;  // of the workload
};

// A fresh idle machine for each run.
using MakeMachine = std::function<Result<std::unique_ptr<qmanager::Machine>>()>;

struct StudyPlan {
  SimOptions options;
  // The policies, each for all queues, one after the other; none: one run, in which each queue has
  // what options.config says.
  std::vector<std::string> policies;
  std::int64_t procs = 0;  // of the machine
  MakeMachine machine;
  MakeRequest request_of = flat_request;
  unsigned threads = 1;
};

// The runs in the order of the policies; they do not influence each other. Errors: those of the
// first policy that fails.
Result<std::vector<PolicyRun>> run_study(const Workload& workload, const StudyPlan& plan);

// The number of waiting jobs of each queue that a pass looks at, for people: "all", "32", "32 of
// queue a, ...".
std::string depth_text(const std::map<std::string, std::int64_t>& depths);

// A table for people: a line a policy.
std::string metrics_summary(const std::vector<PolicyRun>& runs);
// The summary, then for each policy a line a size class.
std::string metrics_table(const std::vector<PolicyRun>& runs);
// An array, one object a policy. `timings` adds how long it took, which differs from run to run.
std::string metrics_json(const std::vector<PolicyRun>& runs, bool timings);
// "job,submit,procs,req,run,start", a line a job that ran, in the order of the workload.
std::string starts_csv(const Workload& workload, const SimResult& result);

}  // namespace holon::sim
