// The part of the JobManager that ends jobs whose place others take.
//
// The journal has, with the decision, that a job is to end, when, and what becomes of it: a
// restarted broker goes on with it, and its scheduler keeps the place for the job that waits. The
// signal to checkpoint (--checkpoint-signal) is sent by the job's agents once, however often they
// are told; an agent that was away is told at its next hello.
#include <fmt/core.h>

#include "base/check.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

// Neither an instance runs again, nor a job that has read input which its client sent once.
bool may_run_again(const Submission& what) {
  // Whoever asked for a grant asks again.
  return !what.is_instance && !what.wishes.runs_nothing() && what.input_tasks.empty();
}

}  // namespace

std::string JobManager::note_of_preemption(const Lifecycle& life) const {
  return job_in_words(JobId(life.preemption.by), job_text()) + " takes its place";
}

// A job that is already being ended gives its place anyhow.
void JobManager::preempt(const qmanager::Preempt& decision, Time now) {
  ActiveJob* const job = find_mutable(decision.job);
  HOLON_CHECK(job != nullptr);
  if (job->life.state != JobState::run) return;
  const bool again =
      decision.mode == qmanager::PreemptMode::requeue && may_run_again(*job->submission);
  post(*job, event::Preempt{decision.for_job.value(), again, decision.end}, now);
  preempted_.emplace(decision.end, decision.job);
  outside_.preempted(*job);
  outside_.changed(*job);
  end_preempted(now);
}

void JobManager::end_preempted(Time now) {
  while (!preempted_.empty() && preempted_.begin()->first <= now) {
    const JobId id = preempted_.begin()->second;
    preempted_.erase(preempted_.begin());
    const ActiveJob* const job = find(id);
    const bool ends = job != nullptr && job->life.state == JobState::run &&
                      job->life.preemption.by != 0 && job->life.preemption.end <= now;
    if (ends) raise(id, "preempt", note_of_preemption(job->life), now);
  }
}

// A job that fails after it was told has given its place; one that ends well is complete.
void JobManager::note_given_place(ActiveJob& job, Time when) {
  if (job.life.preemption.by == 0 || job.life.state != JobState::run) return;
  post(job, event::Exception{"preempt", 0, note_of_preemption(job.life)}, when);
}

Status JobManager::restore_preemption(const ActiveJob& job, Time now) {
  const event::Preempt& preemption = job.life.preemption;
  if (preemption.by == 0) return {};
  preempted_.emplace(preemption.end, job.id);
  return scheduler_.recover_preemption(job.id, JobId(preemption.by), preemption.end, now);
}

}  // namespace holon::instance
