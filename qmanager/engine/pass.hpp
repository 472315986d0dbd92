// pass.hpp - one pass of the scheduler: the engine behind every policy. Private to qmanager/.
//
// Four steps on one page (Pass::run): make the plan true again where jobs overran; if something was
// freed, forget what has to be planned anew; start what is due; walk the queues in order. In the
// walk each job is tried now; if it cannot start, the policy says whether it gets a reservation and
// whether those behind it may try. A kept reservation is moved to the earliest place that the rest
// of the plan leaves it, once after each end of a job (compression).
//
// A reservation is put into the plan only when a later job could make use of the gap in front of
// it. On a full machine that is never, which is why a burst of short jobs does not pay for
// planning.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// The assumed end of a span that began at `began` and is past its planned end at `now`.
Time stretched_end(Time began, Time now);

class Pass {
 public:
  Pass(Scheduler::State& state, Time now, Budget budget) : s_(state), now_(now), budget_(budget) {}

  ~Pass() { s_.look_at(JobId()); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  StepResult run();
  // In a fork, for a question: makes the reservations that no pass had a use for yet. What has
  // come, ended or become due since the last pass is left to the next one. Returns until when more
  // time makes no difference.
  Time complete_plan();
  // Before an advance reservation is made. Returns what was decided.
  std::vector<Decision> make_way();

 private:
  enum class Tried { started, booked, not_now, gone };

  void hold_overruns();
  void close_advances();
  bool close_advance(JobId id, Advance& advance);
  void hold_outstaying();
  void outstay(JobId id, const Advance& advance);
  void hold_intruders();
  Units hold_intruder(JobId id, Intruder& intruder);
  void serve_advances();
  void send_away(Advance& advance, const std::string& reason);
  void step_within(Advance& advance);
  Time stretch(const Job& job);
  void wake_at(Time t) {
    if (t > now_ && t != kTimeMax && (!advance_wake_ || t < *advance_wake_)) advance_wake_ = t;
  }
  void age_priorities();
  void catch_up();
  void decide();
  void plan_all();
  void begin_walks();
  void start_due();
  Job* next_due();
  void replan();
  void walk(Queue& queue);
  void walk_all();
  void walk_in_one_order();
  bool look_at(Queue& queue, std::size_t slot);
  std::int64_t reservations_in_all() const;

  void pass_over(Queue& queue, Job& job);
  void consider(Queue& queue, Job& job);
  bool entitled(Queue& queue, Job& job) const;
  bool past_threshold(Queue& queue, const Job& job) const;
  void count_reservation(Queue& queue, const Job& job);
  void count_bypassed(Queue& queue, const Job& job);
  bool outlives_the_lease(const Job& job) const;
  void book_the_entitled();
  Tried try_start(Job& job);
  JobRequest within_limits(const Job& job) const;
  Tried book(Job& job, Time not_before);
  bool throttled(Queue& queue, Job& job);
  void begin_policies();
  bool rank_by_policies();
  bool rank_by_policy(Queue& queue);
  bool could_start(const Queue& queue, const Job& job) const;
  bool may_be_served(const Job& job) const;
  bool order_matters(const Queue& queue) const;
  Duration rest_after(const Queue& queue) const;
  bool kept_in_line(Queue& queue, Job& job);
  std::optional<bool> policy_reserves(Queue& queue, Job& job) const;
  bool opens_chunk(const Queue& queue, const Job& job) const;
  void wake_when_under(Queue& queue, const Throttle& over);
  void leave_to_windows(Queue& queue, Job& job);
  void keep_chunks(Queue& queue, const std::vector<Window>& windows);
  Duration ticks_of(const Job& job) const;
  bool fill_windows(Queue& queue);
  void fill_window(Queue& queue, const Window& window);
  Tried try_within_limits(Job& job);
  void use_leftovers(Queue& queue);
  void wait(Queue& queue, Job& job, bool entitled);
  void refuse_the_immediate();
  void stand_aside(Job& job, Why why);

  void started(Job& job, resource::Allocation allocation);
  void reject(Job& job, std::string reason);
  void tell_why(Job& job, Why why, JobId because_of = {});
  void tell_shortage(Job& job, const Walk& walk);
  bool drop_reservations(bool also_kept);
  std::optional<Time> wake() const;
  std::optional<Time> next_aging() const;

  Scheduler::State& s_;
  Time now_;
  Budget budget_;
  bool thorough_ = false;         // jobs are looked at even when nothing is free
  bool limits_are_hard_ = false;  // the last round of backfill
  std::optional<Time> advance_wake_;
  std::optional<Time> retry_until_;  // the first reservation that waits for what is down
  StepResult result_;
};

}  // namespace holon::qmanager
