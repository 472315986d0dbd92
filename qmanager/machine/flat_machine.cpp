#include "qmanager/machine/flat_machine.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "qmanager/slots.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::NotNow;

std::string processors_short(std::int64_t wanted, std::int64_t free, std::int64_t all) {
  if (wanted == 1) return fmt::format("the processor it needs is not free: all {} are in use", all);
  return fmt::format("the {} processors it needs are not free: {} of {} {}", wanted, free, all,
                     free == 1 ? "is" : "are");
}

Result<std::optional<std::string>> FlatMachine::refuses(const JobRequest& job, Time,
                                                        Duration) const {
  if (job.procs < 1)
    return fail(Errc::invalid_argument, "a job needs at least 1 processor", "procs");
  if (job.procs > procs_)
    return fmt::format("asks for {} processors, the machine has {}", job.procs, procs_);
  if (!job.spec && !job.required.empty())
    return fmt::format("asks for nodes with the property {}, and this machine has no nodes",
                       job.required.front());
  return std::nullopt;
}

ShapeId FlatMachine::shape_of(const JobRequest& job) const {
  if (const auto known = shapes_->find(job.procs); known != shapes_->end()) return known->second;
  const auto id = static_cast<ShapeId>(shapes_->size());
  shapes_.edit().emplace(job.procs, id);
  return id;
}

std::int64_t FlatMachine::free_procs(Time now) const {
  if (free_at_ != now) {
    free_ = capacity() - plan_.plan().used_at(now);
    free_at_ = now;
  }
  return free_;
}

std::optional<Shortage> FlatMachine::shortage(const JobRequest& job, Interval when) const {
  const std::int64_t free = capacity() - plan_.plan().max_used(when);
  if (job.procs <= free) return std::nullopt;
  return Shortage{processors_short(job.procs, free, procs_), {}};
}

Time FlatMachine::end_of(Time begin, Duration length) const {
  return length == kTimeMax ? horizon_.end : saturating_add(begin, length);
}

bool FlatMachine::fits(std::int64_t procs, Interval when) const {
  return when.end <= horizon_.end && when.begin >= horizon_.begin &&
         plan_.plan().max_used(when) <= capacity() - procs;
}

// Holds as many processors as fit, of the counts that suit the job.
Machine::Outcome FlatMachine::hold(const JobRequest& job, Interval when) {
  if (when.empty() || when.begin < horizon_.begin || when.end > horizon_.end) return NotNow{};
  const std::int64_t free = capacity() - plan_.plan().max_used(when);
  const std::int64_t procs =
      job.slots ? most_slots(job, free) : (job.procs <= free ? job.procs : 0);
  if (procs == 0) return NotNow{};
  plan_.add(when, procs);
  held_.set(job.id, {when, procs});
  free_at_ = -1;
  return Allocation{job.id, when, {{.uniq_id = 0, .amount = procs}}, {}};
}

Machine::Outcome FlatMachine::start(const JobRequest& job, Time now, Duration length) {
  const Interval when{now, end_of(now, length)};
  if (hopeless(job, now)) return NotNow{};
  return hold(job, when);
}

std::optional<Time> FlatMachine::earliest(const JobRequest& job, const Wish& wish) const {
  // Nothing is planned past the horizon, so that "free until the horizon" and "free for ever" are
  // the same.
  const std::optional<Time> begin =
      plan_.earliest_window({.from = std::max(wish.not_before, horizon_.begin),
                             .end = wish.length == kTimeMax ? kTimeMax : horizon_.end,
                             .length = wish.length,
                             .cap = capacity() - job.procs});
  return begin && *begin < horizon_.end ? begin : std::nullopt;
}

Machine::Outcome FlatMachine::reserve(const JobRequest& job, const Wish& wish) {
  // A caller that has asked earlier_start() mostly knows the exact time: that is tried first.
  if (wish.not_before > wish.now) {
    Outcome there = hold(job, {wish.not_before, end_of(wish.not_before, wish.length)});
    if (std::holds_alternative<Allocation>(there)) return there;
  }
  const std::optional<Time> begin = earliest(job, wish);
  if (!begin) return NotNow{"no room for it before the end of the resources' lease"};
  return hold(job, {*begin, end_of(*begin, wish.length)});
}

// The job fits sooner where room lasts up to its begin, or for its whole length.
std::optional<Time> FlatMachine::earlier_start(const JobRequest& job, Time now) const {
  const Held& held = *held_.find(job.id);
  const Time from = std::max(now, horizon_.begin);
  if (held.when.begin <= from) return std::nullopt;
  const std::int64_t cap = capacity() - held.procs;
  const auto slide = plan_.plan().within_since(held.when.begin, from, cap);
  const auto hole = plan_.earliest_window({.from = from,
                                           .end = slide.value_or(held.when.begin),
                                           .length = held.when.length(),
                                           .cap = cap});
  if (!slide && !hole) return std::nullopt;
  // A job that takes fewer slots than it holds now may fit sooner.
  return job.slots ? from : hole ? hole : slide;
}

void FlatMachine::release(JobId job, Time) {
  const Held held = *held_.find(job);
  if (held.procs > 0) plan_.remove(held.when, held.procs);
  held_.erase(job);
  free_at_ = -1;
}

Status FlatMachine::impose(const JobRequest&, const Allocation& allocation) {
  if (held_.contains(allocation.job)) return fail(Errc::exists, "the job holds processors already");
  std::int64_t procs = 0;
  for (const resource::Share& share : allocation.shares) procs += share.amount;
  if (!fits(procs, allocation.when))
    return fail(Errc::overcommitted, fmt::format("{} processors are not free", procs));
  plan_.add(allocation.when, procs);
  held_.set(allocation.job, {allocation.when, procs});
  free_at_ = -1;
  return {};
}

Status FlatMachine::set_end(JobId job, Time end) {
  const Held held = *held_.find(job);
  if (end <= held.when.begin) return fail(Errc::invalid_argument, "an end before the begin");
  if (end > held.when.end && plan_.plan().max_used({held.when.end, end}) > capacity() - held.procs)
    return fail(Errc::overcommitted, "its processors are reserved for another job");
  plan_.move_end(held.when, held.procs, end);
  held_.set(job, {{held.when.begin, end}, held.procs});
  free_at_ = -1;
  return {};
}

Allocation FlatMachine::holding(JobId job) const {
  const Held& held = *held_.find(job);
  return Allocation{job, held.when, {{.uniq_id = 0, .amount = held.procs}}, {}};
}

Units FlatMachine::hold_what_is_left(JobId job, const Units& units, Interval when, Time now) {
  std::int64_t wanted = 0;
  for (const resource::Share& share : units.allocation.shares) wanted += share.amount;
  const Interval rest{now, when.end};
  const std::int64_t procs =
      std::clamp<std::int64_t>(capacity() - plan_.plan().max_used(rest), 0, wanted);
  if (procs > 0) plan_.add(rest, procs);
  held_.set(job, {rest, procs});
  free_at_ = -1;
  if (procs == wanted) return {};
  return {Allocation{job, when, {{.uniq_id = 0, .amount = wanted - procs}}, {}}, {}};
}

Units FlatMachine::occupy(Units units) {
  occupied_ = 0;
  free_at_ = -1;
  for (resource::Share& share : units.allocation.shares) {
    const std::int64_t here = std::min(share.amount, procs_ - occupied_);
    occupied_ += here;
    share.amount -= here;
  }
  std::erase_if(units.allocation.shares, [](const resource::Share& s) { return s.amount == 0; });
  return units;
}

// The smallest free amount so far only falls as time goes on: a rectangle ends where it does. Ends:
// each point looked at is later than the one before and within the horizon, of which a span without
// an end is the last one.
std::vector<Window> FlatMachine::windows(Time now) const {
  std::vector<Window> all;
  std::int64_t free = free_procs(now);
  for (Time at = now; free > 0 && at < horizon_.end;) {
    const auto next = plan_.plan().next_point(at + 1);
    if (!next || *next >= horizon_.end) break;
    at = *next;
    const std::int64_t then = capacity() - plan_.plan().used_at(at);
    if (then >= free) continue;
    all.push_back({free, at - now});
    free = then;
  }
  if (free > 0) all.push_back({free, horizon_.end == kTimeMax ? kTimeMax : horizon_.end - now});
  return all;
}

void FlatMachine::check_invariants() const {
  plan_.plan().check_invariants();
  held_.for_each([&](JobId, const Held& held) {
    if (plan_.plan().max_used(held.when) > procs_) std::abort();
  });
}

}  // namespace holon::qmanager
