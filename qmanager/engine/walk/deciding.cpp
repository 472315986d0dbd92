#include "qmanager/engine/walk/deciding.hpp"

#include "qmanager/engine/policy_view.hpp"
#include "qmanager/engine/walk/entitle.hpp"
#include "qmanager/reason.hpp"

namespace holon::qmanager {

using resource::Allocation;

void Deciding::start(Job& job, Allocation allocation) {
  Queue& queue = s_.queues().of(job);
  // Where each pass makes reservations anew, it may depend on who asked for the plan whether one
  // was in the plan already.
  const bool kept = job.planned && queue.policy.keep;
  const Selection selection = queue.walk.blocked_by.value() != 0 && !kept ? Selection::backfill
                              : job.planned                               ? Selection::reserved
                                                                          : Selection::immediate;
  if (s_.accounts().counts_bypass && selection == Selection::backfill)
    s_.progress().dirty = count_bypassed(s_.jobs(), queue, job) || s_.progress().dirty;
  s_.accounts().limiter.edit().idle_no_more(job);
  queue.unlist(job);
  if (queue.hooks != nullptr) allocation = placed_by_policy(s_, job, std::move(allocation), now_);
  run(s_, job, allocation.when);
  // Jobs that a limit keeps back from now on, also those in front of this one, stop earning
  // priority by waiting: they are looked at again, at once.
  if (s_.accounts().limits_stop_aging) s_.progress().dirty = true;
  ++queue.counts.started;
  tell_policy(s_, "start", job, now_);
  if (selection == Selection::backfill) ++queue.counts.backfilled;
  has_started_ = true;
  decisions_.emplace_back(
      Start{job.request.id, std::move(allocation), selection, job.request.environment});
}

void Deciding::reserve(Job& job, Interval when) {
  const bool moved = job.planned != when.begin;
  qmanager::reserve(s_, job, when);
  job.why = Why::reserved;
  if (moved) decisions_.emplace_back(Reserve{job.request.id, when.begin});
}

void Deciding::reject(Job& job, std::string reason) {
  const JobId id = job.request.id;
  Queue& queue = s_.queues().of(job);
  tell_policy(s_, "reject", job, now_);
  dequeue(s_, job, now_);
  ++queue.counts.rejected;
  s_.jobs().forget(id);
  decisions_.emplace_back(Reject{id, std::move(reason)});
}

void Deciding::preempt(Job& victim, const Job& for_job, Time end, Time planned) {
  const JobId id = victim.request.id;
  if (s_.plan().machine->set_end(id, planned)) {
    end_lent_by(*s_.plan().machine, victim, planned, now_);
    moved_end(s_, victim, planned);
  }
  victim.preempted_for = for_job.request.id;
  s_.preemption().no_candidate(id);
  ++s_.queues().of(victim).counts.preempted;
  decisions_.emplace_back(
      Preempt{id, for_job.request.id, s_.queues().of(for_job).config.preempt.mode, end});
}

void Deciding::stand_aside(Job& job, Why why) {
  s_.queues().of(job).unlist(job);
  s_.queues().aside.edit().insert(job.request.id);
  s_.accounts().limiter.edit().idle_no_more(job);
  job.place = Job::Place::aside;
  tell_why(job, why);
}

void Deciding::tell_why(Job& job, Why why, JobId because_of) {
  if (job.why == why && job.because_of == because_of) return;
  job.why = why;
  job.because_of = because_of;
  if (tells_waits_) decisions_.emplace_back(Wait{job.request.id, cause_of(s_, job, now_).text});
}

void Deciding::tell_shortage(Job& job, const Walk& walk) {
  const bool in_use = s_.plan().machine->hopeless(job.request, now_);
  tell_why(job, in_use ? Why::resources : Why::reservations, walk.blocked_by);
}

}  // namespace holon::qmanager
