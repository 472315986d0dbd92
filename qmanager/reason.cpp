#include "qmanager/reason.hpp"

#include <fmt/core.h>

namespace holon::qmanager {

namespace {

std::string behind(const Job& job) {
  return job.because_of.value() == 0 ? std::string()
                                     : fmt::format("; job {} is in front", job.because_of.value());
}

std::string not_considered(const Scheduler::State& state, const Job& job) {
  const Queue& queue = state.queue_of(job);
  const Walk& walk = queue.walk;
  if (!queue.started) return fmt::format("queue {} is stopped", queue.name);
  if (walk.blocked_by.value() != 0 && !queue.policy.backfill)
    return fmt::format("first come, first served: job {} in front of it waits",
                       walk.blocked_by.value());
  if (walk.considered >= queue.config.queue_depth)
    return fmt::format("not considered yet: {} of {} pending jobs are looked at (queue-depth {})",
                       walk.considered, queue.pending.size(), queue.config.queue_depth);
  return walk.blocked_by.value() == 0 ? "not considered yet" : "everything is in use";
}

}  // namespace

std::string reason_text(const Scheduler::State& state, const Job& job) {
  const Queue& queue = state.queue_of(job);
  switch (job.why) {
    case Why::not_considered:
      return not_considered(state, job);
    case Why::held:
      return "held: its urgency is 0";
    case Why::resources:
      if (!job.detail.empty()) return job.detail + behind(job);
      if (job.procs == 1) return "the processor it needs is not free" + behind(job);
      return fmt::format("the {} processors it needs are not free{}", job.procs, behind(job));
    case Why::reservations:
      return "what it needs is free, but promised to jobs in front of it before its time limit "
             "would end" +
             behind(job);
    case Why::reserved:
      return "planned";
    case Why::blocked:
      return job.detail.empty() ? "no resource that is up can serve it"
                                : "no resource that is up can serve it: " + job.detail;
    case Why::limit:
    case Why::idle_limit:
      return job.detail;
    case Why::backfill:
      return "jobs of its QOS start in the order of the queue only" + behind(job);
    case Why::chunk:
      return fmt::format("freed processors are kept for jobs of {} or more for a while",
                         queue.config.chunk_size);
    case Why::lease:
      return fmt::format(
          "it would end after the lease of these resources: {} ticks asked for in queue {}",
          state.length_of(job), queue.name);
  }
  return {};
}

}  // namespace holon::qmanager
