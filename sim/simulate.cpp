#include "sim/simulate.hpp"

#include "sim/simulation.hpp"

namespace holon::sim {

qmanager::JobRequest flat_request(const TraceJob& job) {
  qmanager::JobRequest request;
  request.id = JobId{static_cast<std::uint64_t>(job.id)};
  request.user = job.user;
  request.group = job.group;
  request.account = job.account;
  request.qos = job.qos;
  request.preemptible = job.preemptible;
  request.checkpoints = job.checkpoints;
  request.submitted = job.submit;
  request.limit = job.limit;
  request.procs = job.procs;
  return request;
}

Result<SimResult> simulate(const Workload& workload, std::unique_ptr<qmanager::Machine> machine,
                           const SimOptions& options, const MakeRequest& request_of) {
  qmanager::SchedulerConfig config = options.config;
  config.tell_waits = false;
  config.ends_on_limit = options.order == Order::event;
  Result<qmanager::Scheduler> scheduler =
      qmanager::Scheduler::create(std::move(config), std::move(machine));
  if (!scheduler) return tl::unexpected(scheduler.error());
  Simulation simulation(workload, std::move(*scheduler), options, request_of);
  while (const std::optional<Time> next = simulation.next_instant()) simulation.play(*next);
  return simulation.finish();
}

}  // namespace holon::sim
