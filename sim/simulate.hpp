// simulate.hpp - runs a workload through the scheduler under a virtual clock.
//
// The scheduler is the one of a live instance; only launching and ending jobs are played. Same
// input, same outcome.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "qmanager/machine/machine.hpp"
#include "qmanager/scheduler.hpp"
#include "sim/workload.hpp"

namespace holon::sim {

// The order of events that happen in the same second t.
enum class Order {
  batch,  // all ends, all submissions, one pass
  event,  // each submission and a pass, then each end, in the order of the starts, and a pass
};

struct SimOptions {
  qmanager::SchedulerConfig config;
  Order order = Order::batch;
  qmanager::Budget budget;           // of each step; a pass is finished before time goes on
  bool check_invariants = false;     // after every pass; for tests
  std::function<Duration()> charge;  // seconds the last pass cost; empty: passes cost nothing
  std::function<void(std::size_t done)> progress;  // jobs finished, now and then
  std::function<void(Time, qmanager::Scheduler&, const qmanager::StepResult&)>
      watch;  // after every pass
};

struct JobOutcome {
  Time submitted = 0;                 // as in the trace, or when its preceding job let it
  std::optional<Time> start;          // nullopt: never ran
  std::optional<Time> first_planned;  // the first start that it was told, planned or real
  qmanager::Selection selection = qmanager::Selection::immediate;
  std::string refused;           // why it never ran, or not to its end
  std::vector<Interval> lost{};  // runs that ended because another job took its place
};

struct SimResult {
  std::vector<JobOutcome> jobs;  // as in the workload
  Time first_submit = 0;
  Time end = 0;  // of the last job
  std::int64_t passes = 0;
  std::vector<qmanager::QueueStatus> queues;  // when all was over
};

// `request_of` makes the request for a job; by default a flat one. A job of a queue that the
// configuration has goes there, any other to the default one.
using MakeRequest = std::function<qmanager::JobRequest(const TraceJob&)>;
qmanager::JobRequest flat_request(const TraceJob& job);

// Runs the workload. Errors: invalid_argument from the configuration.
Result<SimResult> simulate(const Workload& workload, std::unique_ptr<qmanager::Machine> machine,
                           const SimOptions& options, const MakeRequest& request_of = flat_request);

}  // namespace holon::sim
