// The part of the JobManager that runs jobs again that have failed (--requeue, --retry-on), or
// whose place others took.
//
// All state of a retry is in the journal, with the end of the attempt: the event `requeue` is
// committed with the one that gives the resources back, so that a crash leaves either a job that is
// over or one that waits for its next attempt. Dependencies were met once and are not judged again:
// the records of the jobs waited for may be gone.
#include <fmt/core.h>

#include <algorithm>

#include "instance/basics/exit_codes.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

constexpr Duration kFirstBackOff = 1'000;      // ms; doubles with each attempt
constexpr Duration kLongestBackOff = 600'000;  // ms
// A child that goes on lives long, and counts the crashes of years: it is away for 16 s at most.
constexpr std::uint32_t kMostDoublingsOfOneThatGoesOn = 5;

// The delay before this retry, counted from 1.
Duration back_off(std::uint32_t retry) {
  constexpr std::uint32_t kMostDoublings = 20;  // 2^20 s is more than the longest
  return std::min(kLongestBackOff, kFirstBackOff << std::min(retry - 1, kMostDoublings));
}

bool is_node_loss(const Lifecycle& life) {
  return life.exception == "node-failure" || life.exception == "orphaned";
}

// A child that goes on has not failed by itself where it was killed, or where it says so.
bool may_be_started_again(const Lifecycle& life) {
  constexpr int kBySignal = 128;
  const int code = exit_code_of(life);
  return life.finished && life.exception.empty() && (code > kBySignal || code == kExitAgainLater);
}

// Did the job's own exit code end it?
bool has_own_code(const Lifecycle& life) {
  return life.finished &&
         (life.exception.empty() || life.exception == "exec" || life.exception == "abort");
}

}  // namespace

bool JobManager::runs_again(const ActiveJob& job) const {
  const SchedulingOptions& wishes = job.submission->wishes;
  const Lifecycle& life = job.life;
  if (paused_ && !keeps_queue_) return false;
  if (life.cancelled || !life.freed) return false;
  if (has_given_place(life) && life.preemption.requeue) return true;
  if (life.exception == "preempt" || life.retries - life.preemptions >= wishes.requeue)
    return false;
  if (is_node_loss(life) || (wishes.goes_on && may_be_started_again(life))) return true;
  const int code = exit_code_of(life);
  return has_own_code(life) && code > 0 &&
         wishes.retry_on.contains(static_cast<std::uint64_t>(code));
}

void JobManager::requeue(ActiveJob& job, Time now) {
  const Lifecycle& life = job.life;
  const bool preempted = has_given_place(life) && life.preemption.requeue;
  std::uint32_t retry = life.retries - life.preemptions + 1;
  if (job.submission->wishes.goes_on) retry = std::min(retry, kMostDoublingsOfOneThatGoesOn);
  // What goes on was lost with an agent or with all of this instance, and did not fail by itself;
  // or it was on one node for longer than it would wait. Others would take its place meanwhile.
  const bool lasted =
      life.parts.size() == 1 && life.t_start > 0 && distance(life.t_start, now) > back_off(retry);
  const bool at_once =
      preempted || (job.submission->wishes.goes_on && (is_node_loss(life) || lasted));
  const Duration wait = at_once ? 0 : back_off(retry);
  post(job,
       event::Requeue{life.retries + 1, saturating_add(now, wait), end_in_words(life), preempted},
       now);
  outside_.changed(job);
  if (recovering_) return;  // pending jobs are taken up after running ones
  waiting_.look_at(job.id);
  enqueue(job, now);
}

Standing JobManager::standing_of_retry(const ActiveJob& job, Time now) {
  if (now >= job.life.retry_begin) return {};
  return {Standing::Verdict::open,
          fmt::format("attempt {} of {} failed: {}; waits before the next one",
                      job.life.retries - job.life.preemptions, job.submission->wishes.requeue + 1,
                      job.life.retry_note),
          "retry"};
}

}  // namespace holon::instance
