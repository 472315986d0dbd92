#include "qmanager/engine/pass.hpp"

#include <algorithm>

#include "qmanager/engine/slots.hpp"
#include "qmanager/reason.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::Never;
using resource::NotNow;

StepResult Pass::run() {
  s_.unseen = false;
  begin_policies();
  close_advances();
  catch_up();
  serve_advances();
  decide();
  result_.more = result_.more || s_.sliced || s_.dirty;
  s_.boundary = wake();
  result_.wake = s_.boundary;
  const auto aging = next_aging();
  result_.only_ages = aging && !result_.wake && !advance_wake_;
  for (const auto& other : {aging, advance_wake_})
    if (other && (!result_.wake || *other < *result_.wake)) result_.wake = other;
  return std::move(result_);
}

// Overrunning jobs extend their spans before any job is started or gets a reservation.
void Pass::catch_up() {
  s_.clock = std::max(s_.clock, now_);
  hold_overruns();
  age_priorities();
  hold_outstaying();
  hold_intruders();
  if (s_.machine->must_replan()) replan();
  if (s_.dirty && !s_.sliced) begin_walks();
}

void Pass::decide() {
  start_due();
  s_.sliced = false;
  walk_all();
  if (s_.sliced) return;
  for (Queue& queue : s_.queues)
    if (queue.started && queue.walk.over_soft) use_leftovers(queue);
  // An idle limit holds for a whole walk. The next one, at once, lets others in.
  if (s_.limiter->idle_eased())
    s_.dirty = true;
  else
    refuse_the_immediate();
}

// Promises of the last pass that are not to be kept are forgotten: everybody is considered again,
// from the top.
void Pass::begin_walks() {
  s_.dirty = false;
  s_.unbooked.clear();
  s_.limiter.edit().begin_idle();
  if (drop_reservations(false)) ++s_.epoch;
  for (Queue& queue : s_.queues) {
    queue.walk = {};
    queue.walk.compress = s_.released && queue.policy.keep;
    queue.pending.compact();
  }
  s_.released = false;
}

bool Pass::drop_reservations(bool also_kept) {
  std::vector<JobId> drop;
  for (const auto& [when, id] : *s_.bookings)
    if (also_kept || !s_.queue_of(*s_.find(id)).policy.keep) drop.push_back(id);
  for (JobId id : drop) s_.unbook(*s_.find(id), now_);
  return !drop.empty();
}

// Queue by queue, or the jobs of all of them in one order.
void Pass::walk_all() {
  if (s_.config.max_reservation) {
    for (bool more = true; more && !s_.sliced;) {
      walk_in_one_order();
      more = false;
      for (Queue& queue : s_.queues)
        if (queue.started && !s_.sliced) more = fill_windows(queue) || more;
    }
    return;
  }
  for (Queue& queue : s_.queues) {
    if (!queue.started) continue;
    do walk(queue);
    while (!s_.sliced && fill_windows(queue));
    if (s_.sliced) return;
  }
}

namespace {

std::size_t next_slot(const Queue& queue) {
  const auto& last = queue.walk.last;
  return last ? queue.pending.behind(*last) : queue.pending.front();
}

}  // namespace

void Pass::walk(Queue& queue) {
  const PendingList& pending = queue.pending;
  for (std::size_t slot = next_slot(queue); slot < pending.slots() && !queue.walk.closed; ++slot)
    if (pending.at(slot) != nullptr && !look_at(queue, slot)) return;
}

void Pass::walk_in_one_order() {
  std::vector<std::pair<Queue*, std::size_t>> at;
  for (Queue& queue : s_.queues)
    if (queue.started) at.emplace_back(&queue, next_slot(queue));
  while (!s_.sliced) {
    for (auto& [queue, slot] : at)
      while (slot < queue->pending.slots() && queue->pending.at(slot) == nullptr) ++slot;
    std::erase_if(at, [](const auto& place) {
      return place.first->walk.closed || place.second >= place.first->pending.slots();
    });
    if (at.empty()) return;
    const auto first = std::min_element(at.begin(), at.end(), [](const auto& a, const auto& b) {
      return a.first->pending.key_at(a.second) < b.first->pending.key_at(b.second);
    });
    if (look_at(*first->first, first->second))
      ++first->second;
    else
      at.erase(first);
  }
}

// False: no job behind this one in its queue is to be looked at now.
bool Pass::look_at(Queue& queue, std::size_t slot) {
  Walk& walk = queue.walk;
  if (walk.considered >= queue.config.queue_depth) walk.closed = true;
  // Jobs that get a reservation at once, or age by what limits say, are looked at even on a full
  // machine; other jobs are not.
  if (!thorough_ && !queue.policy.keep && !s_.limits_stop_aging && s_.machine->exhausted(now_) &&
      walk.blocked_by.value() != 0)
    return false;
  if (walk.closed) return false;
  if (budget_.jobs-- <= 0) {
    s_.sliced = true;
    return false;
  }
  walk.last = queue.pending.key_at(slot);
  consider(queue, s_.own(*queue.pending.at(slot)));
  return true;
}

// A job that still has its kept reservation. A reservation that comes due now is not moved.
void Pass::pass_over(Queue& queue, Job& job) {
  Walk& walk = queue.walk;
  static_cast<void>(s_.limiter.edit().over_idle(job, s_.length_of(job)));  // it waits as others do
  const bool may_start = !s_.limiter->over(job, now_, s_.length_of(job), false);
  if (walk.compress && may_start && *job.planned > now_) {
    if (const auto earlier = s_.machine->earlier_start(job.request, now_)) {
      s_.unbook(job, now_);
      if (book(job, *earlier) != Tried::booked) return;
    }
  }
  ++walk.considered;
  count_reservation(queue, job);
  if (walk.blocked_by.value() == 0) walk.blocked_by = job.request.id;
}

void Pass::consider(Queue& queue, Job& job) {
  s_.look_at(job.request.id);
  Walk& walk = queue.walk;
  if (job.booked) return pass_over(queue, job);
  // What is too large for the nodes that are here cannot be planned: it would be refused for ever.
  if (s_.config.awaited && !s_.machine->placeable(job.request))
    return stand_aside(job, Why::blocked);
  if (outlives_the_lease(job)) return stand_aside(job, Why::lease);
  if (throttled(queue, job)) {
    ++walk.considered;
    return;
  }
  if (queue.hooks && kept_in_line(queue, job)) return;
  const bool may_book = entitled(queue, job);
  const bool out_of_order = !walk.in_order && s_.qos_of(job).no_backfill;
  if (out_of_order && !may_book) {
    tell_why(job, Why::backfill, walk.blocked_by);
    ++walk.considered;
    return;
  }
  if (walk.by_window && !may_book) return leave_to_windows(queue, job);
  const Tried tried = queue.policy.keep && may_book ? book(job, now_) : try_start(job);
  if (tried == Tried::booked) count_reservation(queue, job);
  if (tried == Tried::booked || tried == Tried::not_now) wait(queue, job, may_book);
}

// Is the job kept back by a limit, or because what is free is kept for larger jobs? It neither
// starts nor is planned, and those behind it go on.
bool Pass::throttled(Queue& queue, Job& job) {
  Walk& walk = queue.walk;
  if (walk.chunking && now_ < queue.chunk_until && job.procs < queue.config.chunk_size) {
    tell_why(job, Why::chunk);
    return true;
  }
  if (!s_.limiter->active()) return false;
  const Accrual accrual = s_.config.priority.accrual;
  if (auto over = s_.limiter.edit().over_idle(job, s_.length_of(job))) {
    s_.count_waiting(job, accrual == Accrual::always);
    job.detail = std::move(*over);
    tell_why(job, Why::idle_limit);
    return true;
  }
  auto over = s_.limiter->over(job, now_, s_.length_of(job), false);
  s_.count_waiting(job, !over || accrual != Accrual::full_policy);
  if (!over) return false;
  walk.over_soft = true;
  wake_when_under(queue, *over);
  job.detail = std::move(over->reason);
  tell_why(job, Why::limit);
  return true;
}

void Pass::wake_when_under(Queue& queue, const Throttle& over) {
  std::optional<Time>& wake = queue.walk.throttled_until;
  if (over.until && (!wake || *over.until < *wake)) wake = over.until;
}

// The last round: jobs between their soft and hard limits may take what no other job could use.
void Pass::use_leftovers(Queue& queue) {
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    Job* job = queue.pending.at(slot);
    if (job != nullptr) job = &s_.own(*job);
    if (job == nullptr || job->why != Why::limit || !queue.policy.backfill) continue;
    if (const auto over = s_.limiter->over(*job, now_, s_.length_of(*job), true)) {
      wake_when_under(queue, *over);
      continue;
    }
    limits_are_hard_ = true;
    try_start(*job);
    limits_are_hard_ = false;
  }
}

bool Pass::outlives_the_lease(const Job& job) const {
  const Duration length = s_.length_of(job);
  return length != kTimeMax && saturating_add(now_, length) > s_.machine->horizon().end;
}

// Is it so large that, as long as it waits, what was freed lately is kept for its like? Maui has
// that for FIRSTFIT alone.
bool Pass::opens_chunk(const Queue& queue, const Job& job) const {
  const bool first_fit =
      queue.backfill == BackfillOrder::first_fit || queue.backfill == BackfillOrder::queue_order;
  const std::int64_t size = queue.config.chunk_size;
  return first_fit && size > 0 && now_ < queue.chunk_until && job.procs >= size;
}

// The job stays in the queue: what does that mean for it, and for those behind it?
void Pass::wait(Queue& queue, Job& job, bool entitled) {
  Walk& walk = queue.walk;
  const JobId id = job.request.id;
  if (!job.booked && !s_.machine->placeable(job.request)) return stand_aside(job, Why::blocked);
  ++walk.considered;
  if (!entitled) walk.in_order = false;
  if (!queue.policy.keep && entitled) {
    count_reservation(queue, job);
    s_.unbooked.push_back(id);
  }
  if (!job.booked) tell_shortage(job, walk);
  if (walk.blocked_by.value() == 0) walk.blocked_by = id;
  walk.chunking = walk.chunking || opens_chunk(queue, job);
  if (!queue.policy.backfill) walk.closed = true;
  if (queue.backfill != BackfillOrder::queue_order && !entitled) walk.by_window = true;
}

Pass::Tried Pass::try_start(Job& job) {
  const Duration length = s_.length_of(job);
  const Duration ticks = length == kTimeMax ? s_.machine->horizon().end - now_ : length;
  ShapeMemo& memo = s_.shapes[job.shape];
  if (memo.epoch == s_.epoch && memo.length <= ticks) return Tried::not_now;
  if (s_.machine->hopeless(job.request, now_)) return Tried::not_now;
  book_the_entitled();
  s_.look_at(job.request.id);
  Machine::Outcome outcome = job.request.slots && s_.limiter->active()
                                 ? s_.machine->start(within_limits(job), now_, length)
                                 : s_.machine->start(job.request, now_, length);
  if (auto* allocation = std::get_if<Allocation>(&outcome)) {
    started(job, std::move(*allocation));
    return Tried::started;
  }
  if (auto* never = std::get_if<Never>(&outcome)) {
    reject(job, std::move(never->reason));
    return Tried::gone;
  }
  job.detail = std::move(std::get<NotNow>(outcome).reason);
  memo = {s_.epoch, ticks};
  return Tried::not_now;
}

// A job with a range of slots takes no more slots than its limits leave it.
JobRequest Pass::within_limits(const Job& job) const {
  const std::int64_t least = least_slots(job.request);
  const std::int64_t each = std::max<std::int64_t>(1, job.procs / least);
  const std::int64_t procs = s_.limiter->procs_left(job, now_, s_.length_of(job), limits_are_hard_);
  return with_at_most(job.request, std::max(least, procs / each));
}

Pass::Tried Pass::book(Job& job, Time not_before) {
  s_.look_at(job.request.id);
  // One that starts at once gets no more slots than its limits leave it; what later ones get is
  // seen when they are due.
  if (job.request.slots && s_.limiter->active()) {
    Machine::Outcome now = s_.machine->start(within_limits(job), now_, s_.length_of(job));
    if (auto* allocation = std::get_if<Allocation>(&now)) {
      started(job, std::move(*allocation));
      return Tried::started;
    }
  }
  Machine::Outcome outcome =
      s_.machine->reserve(job.request, {now_, not_before, s_.length_of(job)});
  if (auto* never = std::get_if<Never>(&outcome)) {
    reject(job, std::move(never->reason));
    return Tried::gone;
  }
  if (auto* not_now = std::get_if<NotNow>(&outcome)) {
    job.detail = std::move(not_now->reason);
    return Tried::not_now;
  }
  Allocation& allocation = std::get<Allocation>(outcome);
  if (allocation.when.begin <= now_) {
    started(job, std::move(allocation));
    return Tried::started;
  }
  const bool moved = job.planned != allocation.when.begin;
  s_.book(job, allocation.when);
  job.why = Why::reserved;
  if (moved) result_.decisions.emplace_back(Reserve{job.request.id, allocation.when.begin});
  return Tried::booked;
}

// Where a limit or a reservation has come due, the plan of the last pass is what there is to show.
Time Pass::complete_plan() {
  if (s_.boundary && *s_.boundary <= now_) return kTimeMax;
  s_.clock = std::max(s_.clock, now_);
  hold_overruns();
  hold_outstaying();
  hold_intruders();
  // Where something was freed, a job entitled to a reservation could start.
  if (!s_.dirty && !s_.unseen) plan_all();
  if (!s_.dirty) book_the_entitled();
  Time until = wake().value_or(kTimeMax);
  if (s_.boundary) until = std::min(until, *s_.boundary);
  const auto at = [&](Time t) { until = t > now_ ? std::min(until, t) : until; };
  for (const auto& [id, advance] : s_.advances)
    at(advance.request.when.begin), at(advance.request.when.end);
  for (const auto& [id, intruder] : s_.intruders) at(intruder.when.end);
  return until;
}

void Pass::plan_all() {
  thorough_ = true;
  begin_policies();
  if (!s_.sliced && s_.config.max_reservation) walk_in_one_order();
  if (!s_.sliced && !s_.config.max_reservation)
    for (Queue& queue : s_.queues)
      if (queue.started) walk(queue);
  book_the_entitled();
}

void Pass::book_the_entitled() {
  if (s_.unbooked.empty()) return;
  const std::vector<JobId> entitled = std::exchange(s_.unbooked, {});
  for (JobId id : entitled)
    if (Job* job = s_.find(id); job != nullptr && job->place == Job::Place::pending)
      book(*job, now_);
}

void Pass::started(Job& job, Allocation allocation) {
  Queue& queue = s_.queue_of(job);
  // Where reservations are made anew in each pass, whether one was in the plan already may depend
  // on who asked for the plan.
  const bool promised = job.planned && queue.policy.keep;
  const Selection selection = queue.walk.blocked_by.value() != 0 && !promised ? Selection::backfill
                              : job.planned                                   ? Selection::reserved
                                            : Selection::immediate;
  if (s_.counts_bypass && selection == Selection::backfill) count_bypassed(queue, job);
  s_.limiter.edit().idle_no_more(job);
  queue.pending.erase(job.key);
  s_.place_by_policy(job, allocation, now_);
  s_.run(job, allocation.when);
  ++queue.counts.started;
  s_.tell_policy("start", job, now_);
  if (selection == Selection::backfill) ++queue.counts.backfilled;
  result_.decisions.emplace_back(
      Start{job.request.id, std::move(allocation), selection, job.request.environment});
}

void Pass::refuse_the_immediate() {
  for (JobId id : std::exchange(s_.immediate, {}))
    if (Job* job = s_.find(id); job != nullptr && job->place != Job::Place::running)
      reject(*job,
             "it was to start at once or not at all, and it could not" +
                 (s_.machine->placeable(job->request) ? std::string() : ": " + told_outage(s_)));
}

void Pass::stand_aside(Job& job, Why why) {
  s_.queue_of(job).pending.erase(job.key);
  s_.aside.edit().insert(job.request.id);
  job.place = Job::Place::aside;
  tell_why(job, why);
}

void Pass::reject(Job& job, std::string reason) {
  const JobId id = job.request.id;
  Queue& queue = s_.queue_of(job);
  s_.tell_policy("reject", job, now_);
  s_.dequeue(job, now_);
  ++queue.counts.rejected;
  s_.forget(id);
  result_.decisions.emplace_back(Reject{id, std::move(reason)});
}

void Pass::tell_why(Job& job, Why why, JobId because_of) {
  if (job.why == why && job.because_of == because_of) return;
  job.why = why;
  job.because_of = because_of;
  if (s_.tells_waits)
    result_.decisions.emplace_back(Wait{job.request.id, cause_of(s_, job, now_).text});
}

void Pass::tell_shortage(Job& job, const Walk& walk) {
  tell_why(job, s_.machine->hopeless(job.request, now_) ? Why::resources : Why::reservations,
           walk.blocked_by);
}

std::optional<Time> Pass::wake() const {
  std::optional<Time> wake;
  const auto earlier = [&](Time t) {
    if (t > now_ && t != kTimeMax && (!wake || t < *wake)) wake = t;
  };
  // A job at its limit is over, or its span in the plan must grow.
  if (const auto end = s_.running_by_end->upper_bound({now_, JobId{UINT64_MAX}});
      end != s_.running_by_end->end())
    earlier(end->first);
  if (const auto next = s_.bookings->upper_bound({now_, JobId{UINT64_MAX}});
      next != s_.bookings->end())
    earlier(next->first);
  if (retry_until_) earlier(*retry_until_);
  for (const Queue& queue : s_.queues) {
    if (queue.walk.chunking) earlier(queue.chunk_until);
    if (queue.walk.throttled_until) earlier(*queue.walk.throttled_until);
    if (queue.walk.ripe_at) earlier(*queue.walk.ripe_at);
  }
  return wake;
}

}  // namespace holon::qmanager
