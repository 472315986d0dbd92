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
  return !what.is_instance && what.input_tasks.empty();
}

}  // namespace

std::string JobManager::note_of_preemption(const Lifecycle& life) const {
  return job_in_words(JobId(life.preemption.by), job_text()) + " takes its place";
}

// Does another job still wait for the place of this one? A job that was told to end, and whose
// place nobody needs any more, may end by itself: it has given its place then. It is not ended.
bool JobManager::is_to_give_place(const Lifecycle& life) const {
  const ActiveJob* const by = find(JobId(life.preemption.by));
  return by != nullptr && is_pending(by->life.state);
}

// A job that is already being ended gives its place anyhow. A suspended one is continued, so that
// it can end.
void JobManager::preempt(const qmanager::Preempt& decision, Time now) {
  ActiveJob* const job = find_mutable(decision.job);
  HOLON_CHECK(job != nullptr);
  if (job->life.state != JobState::run) return;
  if (job->life.suspended != 0) post(*job, event::Resume{}, now);
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
                      is_to_give_place(job->life) && job->life.preemption.end <= now;
    if (ends) raise(id, "preempt", note_of_preemption(job->life), now);
  }
}

// A job that fails after it was told has given its place; one that ends well is complete.
void JobManager::note_given_place(ActiveJob& job, Time when) {
  if (job.life.preemption.by == 0 || job.life.state != JobState::run) return;
  // Where nobody needed the place, and the time to give it is past, it has failed for itself.
  if (when > job.life.preemption.end && !is_to_give_place(job.life)) return;
  post(job, event::Exception{"preempt", 0, note_of_preemption(job.life)}, when);
}

Status JobManager::restore_preemption(const ActiveJob& job, Time now) {
  const event::Preempt& preemption = job.life.preemption;
  if (preemption.by == 0) return {};
  preempted_.emplace(preemption.end, job.id);
  return scheduler_.recover_preemption(job.id, JobId(preemption.by), preemption.end, now);
}

}  // namespace holon::instance
