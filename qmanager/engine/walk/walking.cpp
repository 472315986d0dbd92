#include "qmanager/engine/walk/walking.hpp"

#include <algorithm>
#include <utility>

#include "qmanager/engine/pass/ranking.hpp"
#include "qmanager/engine/walk/entitle.hpp"
#include "qmanager/engine/walk/throttle.hpp"
#include "qmanager/engine/walk/windows.hpp"

namespace holon::qmanager {

// ---- which job is next

void Walking::go_on() {
  const bool& sliced = s_.progress().sliced;
  if (s_.config().max_reservation) {
    for (bool more = true; more && !sliced;) {
      walk_in_one_order();
      more = false;
      for (Queue& queue : s_.queues().all)
        if (queue.started && !sliced) more = fill(queue) || more;
    }
    return;
  }
  // Queues that preempt are walked first: they would take back at once what others get.
  for (const bool preempts : {true, false})
    for (Queue& queue : s_.queues().all) {
      if (!queue.started || (queue.config.preempt.mode != PreemptMode::off) != preempts) continue;
      do walk(queue);
      while (!sliced && fill(queue));
      if (sliced) return;
    }
}

void Walking::go_on_in_order() {
  if (s_.progress().sliced) return;
  if (s_.config().max_reservation) return walk_in_one_order();
  for (Queue& queue : s_.queues().all)
    if (queue.started) walk(queue);
}

namespace {

std::size_t next_slot(const Queue& queue) {
  const auto& last = queue.walk.last;
  return last ? queue.pending.behind(*last) : queue.pending.front();
}

}  // namespace

void Walking::walk(Queue& queue) {
  const PendingList& pending = queue.pending;
  for (std::size_t slot = next_slot(queue); slot < pending.slots() && !queue.walk.closed; ++slot)
    if (pending.at(slot) != nullptr && !look_at(queue, slot)) return;
}

void Walking::walk_in_one_order() {
  std::vector<std::pair<Queue*, std::size_t>> at;
  for (Queue& queue : s_.queues().all)
    if (queue.started) at.emplace_back(&queue, next_slot(queue));
  while (!s_.progress().sliced) {
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

// Jobs that get a reservation at once, or one around which others are kept, or age by what limits
// say, are looked at even on a full machine; other jobs are not.
bool Walking::nothing_to_find(const Queue& queue) {
  if (effort_.thorough || queue.policy.keep || s_.accounts().limits_stop_aging ||
      !s_.plan().machine->exhausted(now_) || queue.walk.blocked_by.value() == 0)
    return false;
  return !plans_more_beside_kept(s_, queue);
}

// Looks at one job. False: no job behind it in its queue is to be looked at now.
bool Walking::look_at(Queue& queue, std::size_t slot) {
  Walk& walk = queue.walk;
  const bool kept_out = queue.is_at_depth(queue.pending.at(slot)->pools);
  walk.cut_off = walk.cut_off || kept_out;
  if (walk.closed || (kept_out && queue.is_at_depth()) || nothing_to_find(queue)) return false;
  if (effort_.budget.jobs-- <= 0) {
    s_.progress().sliced = true;
    return false;
  }
  walk.last = queue.pending.key_at(slot);
  if (kept_out)
    skip(queue, s_.jobs().seen(*queue.pending.at(slot)));
  else
    consider(queue, s_.jobs().own(*queue.pending.at(slot)));
  return true;
}

// A search for a place takes as long as a look at many jobs that keep theirs.
Tried Walking::reserve(Job& job, Time not_before) {
  effort_.budget.jobs -= effort_.budget.planned_as - 1;
  return trying_.reserve(job, not_before);
}

// True: the depth of the queue leaves room for others to be looked at. Where these are behind the
// walk already there is another one, at once.
bool Walking::fill(Queue& queue) {
  if (!fill_windows(s_, queue, now_, deciding_, trying_)) return false;
  if (!std::exchange(queue.walk.cut_off, false)) return false;
  s_.progress().dirty = s_.progress().dirty || queue.walk.skipped;
  return !queue.walk.skipped;
}

// The depth of the queue keeps it out; those behind it that ask for other pools may be let in.
void Walking::skip(Queue& queue, const Job& job) {
  queue.walk.skipped = true;
  if (job.reserved)
    count_reservation(s_.config(), queue, job);
  else
    queue.walk.in_order = false;
}

// ---- what becomes of it

void Walking::consider(Queue& queue, Job& job) {
  qmanager::look_at(s_.config(), job.request.id);
  Machine& machine = *s_.plan().machine;
  if (job.reserved) return pass_over(queue, job);
  // A job too large for the nodes that are here cannot be planned: it would be refused for ever.
  if (s_.config().awaited && !machine.placeable(job.request))
    return deciding_.stand_aside(job, Why::blocked);
  const Duration length = s_.queues().length_of(job);
  const bool outlives_the_lease =
      length != kTimeMax && saturating_add(now_, length) > machine.horizon().end;
  if (outlives_the_lease) return deciding_.stand_aside(job, Why::lease);
  if (throttled(s_, queue, job, now_, deciding_)) {
    if (job.why == Why::chunk) ++queue.walk.considered[job.pools];
    return;
  }
  if (queue.hooks) {
    if (auto reason = kept_in_line(policy_, queue, job, now_))
      return keep_in_line(queue, job, std::move(*reason));
  }
  const bool may_reserve = entitled(policy_, queue, job, now_);
  if (!may_reserve && !queue.walk.in_order && qos_of(s_.config(), job).no_backfill) {
    deciding_.tell_why(job, Why::backfill, queue.walk.blocked_by);
    ++queue.walk.considered[job.pools];
    return;
  }
  if (queue.walk.by_window && !may_reserve)
    return leave_to_windows(s_.plan(), queue, job, deciding_);
  const bool at_once = queue.policy.keep && may_reserve;
  const Tried tried = at_once ? reserve(job, now_) : trying_.start(job);
  if (tried == Tried::reserved) count_reservation(s_.config(), queue, job);
  if (tried == Tried::reserved || tried == Tried::not_now) wait(queue, job, may_reserve);
}

namespace {

// The units reserved for the job; nullopt: only their number plays a part.
std::optional<Units> reserved_units(const Machine& machine, const Job& job) {
  if (!machine.reserves_units(job.request)) return std::nullopt;
  return machine.units_of(job.request.id);
}

}  // namespace

// Passes a job that still has its kept reservation. A reservation that comes due now is not moved.
// One that is moved may leave units to others even if its time stays.
void Walking::pass_over(Queue& queue, Job& job) {
  Walk& walk = queue.walk;
  const Duration length = s_.queues().length_of(job);
  static_cast<void>(s_.accounts().limiter.edit().over_idle(job, length));  // it waits as others do
  const bool may_start = !s_.accounts().limiter->over(job, now_, length, false);
  if (walk.compress && may_start && *job.planned > now_) {
    trying_.reserve_for_the_entitled();
    if (const auto earlier = s_.plan().machine->earlier_start(job.request, now_)) {
      const Time before = *job.planned;
      const std::optional<Units> units = reserved_units(*s_.plan().machine, job);
      unreserve(s_, job, now_);
      const Tried tried = reserve(job, *earlier);
      if (tried != Tried::reserved || *job.planned != before ||
          reserved_units(*s_.plan().machine, job) != units)
        left_its_place();
      if (tried != Tried::reserved) {
        // A policy that changes the order may give the reservation that is left to a job in front.
        if (queue.hooks) s_.progress().dirty = true;
        // Jobs behind this one may leave it room.
        if (tried == Tried::not_now) wait(queue, job, true);
        return;
      }
    }
  }
  ++walk.considered[job.pools];
  count_reservation(s_.config(), queue, job);
  if (walk.blocked_by.value() == 0) walk.blocked_by = job.request.id;
  if (!queue.policy.backfill) walk.closed = true;
}

// Failed jobs may fit beside the place that a reservation was in: jobs behind it are tried in this
// walk, and those already passed in another one, at once.
void Walking::left_its_place() {
  ++s_.plan().epoch;
  const auto& queues = s_.queues().all;
  if (std::any_of(queues.begin(), queues.end(), [](const Queue& q) { return q.walk.passed_by; }))
    s_.progress().dirty = true;
}

// A user-written policy does not let the job overtake those in front.
void Walking::keep_in_line(Queue& queue, Job& job, std::string reason) {
  ++queue.walk.considered[job.pools];
  queue.walk.in_order = false;
  if (job.detail != reason) job.why = Why::not_considered;  // so that the new reason is told
  job.detail = std::move(reason);
  deciding_.tell_why(job, Why::policy, queue.walk.blocked_by);
}

// Settles what it means for the job, and for those behind it, that it stays in the queue.
void Walking::wait(Queue& queue, Job& job, bool may_reserve) {
  Walk& walk = queue.walk;
  const JobId id = job.request.id;
  if (!job.reserved && !s_.plan().machine->placeable(job.request))
    return deciding_.stand_aside(job, Why::blocked);
  ++walk.considered[job.pools];
  if (!may_reserve) walk.in_order = false;
  walk.passed_by = walk.passed_by || !job.reserved;
  if (!queue.policy.keep && may_reserve) {
    count_reservation(s_.config(), queue, job);
    s_.plan().entitled.push_back(id);
    if (!s_.config().shortcuts) trying_.reserve_for_the_entitled();
  }
  if (!job.reserved) deciding_.tell_shortage(job, walk);
  if (walk.blocked_by.value() == 0) walk.blocked_by = id;
  walk.chunking = walk.chunking || opens_chunk(queue, job, now_);
  if (!queue.policy.backfill) walk.closed = true;
  if (queue.backfill != BackfillOrder::queue_order && !may_reserve) walk.by_window = true;
}

// ---- what is left over

void Walking::use_leftovers() {
  for (Queue& queue : s_.queues().all) {
    if (!queue.started || !queue.walk.over_soft || !queue.policy.backfill) continue;
    for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
      Job* const listed = queue.pending.at(slot);
      if (listed == nullptr) continue;
      Job& job = s_.jobs().own(*listed);
      if (job.why != Why::limit) continue;
      if (const auto over =
              s_.accounts().limiter->over(job, now_, s_.queues().length_of(job), true))
        wake_when_under(queue, *over);
      else
        trying_.start(job, Bound::hard);
    }
  }
}

}  // namespace holon::qmanager
