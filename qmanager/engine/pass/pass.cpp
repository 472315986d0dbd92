#include "qmanager/engine/pass/pass.hpp"

#include <algorithm>

#include "qmanager/engine/pass/aging.hpp"
#include "qmanager/engine/pass/due.hpp"
#include "qmanager/engine/pass/intrusion.hpp"
#include "qmanager/engine/pass/overruns.hpp"
#include "qmanager/engine/pass/preempt.hpp"
#include "qmanager/engine/pass/ranking.hpp"
#include "qmanager/engine/pass/replan.hpp"
#include "qmanager/engine/pass/serving.hpp"
#include "qmanager/engine/walk/throttle.hpp"
#include "qmanager/engine/walk/walking.hpp"
#include "qmanager/reason.hpp"

namespace holon::qmanager {

namespace {

// The plan and the clock agree again, before any job is started or gets a reservation. If something
// was freed, what has to be planned anew is forgotten.
void catch_up(Scheduler::State& s, Time now) {
  s.progress().clock = std::max(s.progress().clock, now);
  hold_overruns(s, now);
  // Jobs that the last pass has started count no more against idle limits.
  if (!s.progress().sliced && s.accounts().limiter->idle_outdated()) s.progress().dirty = true;
  // Policies are asked about the plan to be: a due reservation that is given back in a moment would
  // make a machine look full on which the order decides.
  if (s.progress().dirty && !s.progress().sliced && drop_reservations(s, now, Kept::stay))
    ++s.plan().epoch;
  const bool ranked = rank_by_policies(s, now);
  if (age_priorities(s, now) || ranked) s.progress().begin_anew();
  hold_outstaying(s, now);
  hold_intruders(s, now);
  if (s.plan().machine->must_replan()) replan(s, now);
  if (!s.config().shortcuts && !s.progress().sliced) freed(s);
  if (s.progress().dirty && !s.progress().sliced) begin_walks(s, now);
}

void refuse_the_immediate(Parts<const SchedulerConfig, Jobs, const Plan, Queues> s,
                          Deciding& deciding) {
  for (JobId id : std::exchange(s.queues().immediate, {})) {
    Job* const job = s.jobs().find(id);
    if (job == nullptr || job->place == Job::Place::running) continue;
    const bool placeable = s.plan().machine->placeable(job->request);
    deciding.reject(*job, "it was to start at once or not at all, and it could not" +
                              (placeable ? std::string() : ": " + told_outage(s)));
  }
}

// Jobs start, or get reservations, or wait, or take the places of others.
// Returns when to look again at those for whom nobody can make room now.
std::optional<Time> walk_queues(Scheduler::State& s, Time now, Budget budget, Deciding& deciding) {
  std::optional<Time> wake;
  Trying trying(s, now, deciding);
  Walking walking(s, now, {budget, !s.config().shortcuts}, deciding, trying);
  s.progress().sliced = false;
  walking.go_on();
  if (!s.progress().sliced) {
    walking.use_leftovers();
    wake = make_room(s, now, deciding, trying);
  }
  // A job kept back by a limit is not planned: its reservation, made before the jobs that the limit
  // counts had started, goes to others. An idle limit holds for a whole walk. The next walk, which
  // follows at once, handles both.
  const bool reached = deciding.has_started() && limits_reach_reserved(s, now);
  const bool anew = reached || (!s.progress().sliced && s.accounts().limiter->idle_eased());
  s.progress().dirty = s.progress().dirty || anew;
  if (!anew && !s.progress().sliced) refuse_the_immediate(s, deciding);
  return wake;
}

// Looks at all jobs and puts the reservations of the entitled into the plan.
void plan_all(Scheduler::State& s, Time now, Deciding& deciding) {
  begin_policies(s, now);
  Trying trying(s, now, deciding);
  Walking(s, now, {.budget = {}, .thorough = true}, deciding, trying).go_on_in_order();
  trying.reserve_for_the_entitled();
}

std::optional<Time> sooner(std::optional<Time> a, std::optional<Time> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// The first time after `now` at which the plan changes by itself.
std::optional<Time> next_change(Parts<const Plan, const Queues> s, Time now,
                                std::optional<Time> retry) {
  std::optional<Time> next;
  const auto at = [&](std::optional<Time> t) {
    if (t && *t > now && *t != kTimeMax) next = sooner(next, t);
  };
  const std::pair after_now(now, JobId{UINT64_MAX});
  // A job at its limit is over, or its span in the plan must grow.
  if (const auto end = s.plan().running->upper_bound(after_now); end != s.plan().running->end())
    at(end->first);
  if (const auto begin = s.plan().reservations->upper_bound(after_now);
      begin != s.plan().reservations->end())
    at(begin->first);
  at(retry);
  for (const Queue& queue : s.queues().all) {
    if (queue.walk.chunking) at(queue.chunk_until);
    at(queue.walk.throttled_until);
    at(queue.walk.ripe_at);
  }
  return next;
}

}  // namespace

StepResult run_pass(Scheduler::State& s, Time now, Budget budget) {
  Deciding deciding(s, now, s.tells_waits);
  s.progress().unseen = false;
  begin_policies(s, now);
  close_advances(s, now, deciding);
  catch_up(s, now);
  const Served served = serve_advances(s, now, budget, deciding);
  serve_claims(s, now, deciding);
  const std::optional<Time> retry = start_due(s, now, deciding);
  const std::optional<Time> room = walk_queues(s, now, budget, deciding);
  s.progress().boundary = next_change(s, now, retry);
  const std::optional<Time> aging = next_aging(s, now);
  look_at(s.config(), JobId());
  return {.decisions = deciding.take(),
          .more = served.more || s.progress().sliced || s.progress().dirty,
          .wake = sooner(sooner(sooner(s.progress().boundary, served.wake), room), aging),
          .only_ages = aging && !s.progress().boundary && !served.wake && !room};
}

// The plan of the last pass is shown where a limit or a reservation has come due since.
Time complete_plan(Scheduler::State& s, Time now) {
  const std::optional<Time> boundary = s.progress().boundary;
  if (boundary && *boundary <= now) return kTimeMax;
  Deciding deciding(s, now, s.tells_waits);
  s.progress().clock = std::max(s.progress().clock, now);
  hold_overruns(s, now);
  hold_outstaying(s, now);
  hold_intruders(s, now);
  // A job entitled to a reservation could start where something was freed.
  if (!s.progress().dirty && !s.progress().unseen) plan_all(s, now, deciding);
  if (!s.progress().dirty) Trying(s, now, deciding).reserve_for_the_entitled();
  look_at(s.config(), JobId());
  Time until = next_change(s, now, std::nullopt).value_or(kTimeMax);
  if (boundary) until = std::min(until, *boundary);
  const auto at = [&](Time t) { until = t > now ? std::min(until, t) : until; };
  for (const auto& [id, advance] : s.advances().all)
    at(advance.request.when.begin), at(advance.request.when.end);
  for (const auto& [id, intruder] : s.advances().intruders) at(intruder.when.end);
  return until;
}

std::vector<Decision> make_way(Scheduler::State& s, Time now) {
  Deciding deciding(s, now, s.tells_waits);
  catch_up(s, now);
  if (s.plan().machine->settle()) {
    s.plan().machine->must_replan();
    replan(s, now);
  }
  // Reservations that time or resources have moved are made again before the request is granted.
  plan_all(s, now, deciding);
  if (drop_reservations(s, now, Kept::stay)) freed(s);
  look_at(s.config(), JobId());
  return deciding.take();
}

}  // namespace holon::qmanager
