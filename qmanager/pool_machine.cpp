#include "qmanager/pool_machine.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "qmanager/slots.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::NotNow;

PoolMachine::PoolMachine(std::unique_ptr<Machine> inner,
                         const std::map<std::string, resource::Amount>& pools)
    : inner_(std::move(inner)) {
  for (const auto& [name, total] : pools) pools_[name].total = total;
}

Result<std::optional<std::string>> PoolMachine::refuses(const JobRequest& job, Time now,
                                                        Duration length) {
  for (const Consumes& use : job.consumes) {
    const auto pool = pools_.find(use.pool);
    if (pool == pools_.end()) return fmt::format("there is no consumable \"{}\" here", use.pool);
    if (use.amount < 0)
      return fail(Errc::invalid_argument, "a negative amount of " + use.pool, "consumes");
    if (least(job, use) > pool->second.total)
      return fmt::format("asks for {} {}, there are {}", least(job, use), use.pool,
                         pool->second.total);
  }
  return inner_->refuses(job, now, length);
}

ShapeId PoolMachine::shape_of(const JobRequest& job) {
  std::string needs;
  for (const Consumes& use : job.consumes)
    needs += fmt::format("{}={};", use.pool, least(job, use));
  return shapes_.try_emplace({inner_->shape_of(job), needs}, static_cast<ShapeId>(shapes_.size()))
      .first->second;
}

Time PoolMachine::end_of(Time begin, Duration length) const {
  return length == kTimeMax ? horizon().end : saturating_add(begin, length);
}

std::optional<std::string> PoolMachine::short_of(const JobRequest& job, Interval when) const {
  for (const Consumes& use : job.consumes) {
    const Pool& pool = pools_.at(use.pool);
    const resource::Amount free = pool.total - pool.used.max_used(when);
    if (least(job, use) > free)
      return fmt::format("needs {} {}, {} free until its limit", least(job, use), use.pool, free);
  }
  return std::nullopt;
}

// What its smallest number of slots needs.
resource::Amount PoolMachine::least(const JobRequest& job, const Consumes& use) {
  return use.per_slot ? use.amount * least_slots(job) : use.amount;
}

std::int64_t PoolMachine::slots_over(const JobRequest& job, Interval when) const {
  std::int64_t slots = resource::kMaxCount;
  for (const Consumes& use : job.consumes) {
    if (!use.per_slot || use.amount == 0) continue;
    const Pool& pool = pools_.at(use.pool);
    slots = std::min(slots, (pool.total - pool.used.max_used(when)) / use.amount);
  }
  return slots;
}

bool PoolMachine::hopeless(const JobRequest& job, Time now) {
  return inner_->hopeless(job, now) || short_of(job, {now, saturating_add(now, 1)});
}

Machine::Outcome PoolMachine::hold(const JobRequest& job, Outcome outcome) {
  const auto* allocation = std::get_if<Allocation>(&outcome);
  if (allocation == nullptr || job.consumes.empty()) return outcome;
  Held held{job.consumes, allocation->when};
  // Shares of the smallest number of slots grow with the processors it got.
  const std::int64_t slots = least_slots(job) *
                             std::max<std::int64_t>(1, inner_->procs_held(job.id)) /
                             std::max<std::int64_t>(1, job.procs);
  for (Consumes& use : held.consumes) {
    if (use.per_slot) use = {use.pool, use.amount * (job.slots ? slots : least_slots(job)), false};
    pools_.at(use.pool).used.add(allocation->when, use.amount);
  }
  held_[job.id] = std::move(held);
  return outcome;
}

Machine::Outcome PoolMachine::start(const JobRequest& job, Time now, Duration length) {
  const Interval when{now, end_of(now, length)};
  if (auto missing = short_of(job, when)) return NotNow{std::move(*missing)};
  if (!job.slots) return hold(job, inner_->start(job, now, length));
  return hold(job, inner_->start(with_at_most(job, slots_over(job, when)), now, length));
}

std::optional<Time> PoolMachine::pools_fit(const JobRequest& job, Time from,
                                           Duration length) const {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Consumes& use : job.consumes) {
      const Pool& pool = pools_.at(use.pool);
      const auto fit = pool.used.earliest_window(
          {.from = from, .end = kTimeMax, .length = length, .cap = pool.total - least(job, use)});
      if (!fit) return std::nullopt;
      moved = moved || *fit > from;
      from = *fit;
    }
  }
  return from;
}

// Each side pushes the time on until both agree. Ends: times only grow, and past the last span all
// fits.
std::optional<Time> PoolMachine::earliest(const JobRequest& job, const Wish& wish) {
  Wish next = wish;
  for (;;) {
    const auto pools = pools_fit(job, next.not_before, wish.length);
    if (!pools) return std::nullopt;
    next.not_before = *pools;
    const auto inner = inner_->earliest(job, next);
    if (!inner || *inner == *pools) return inner;
    next.not_before = *inner;
  }
}

Machine::Outcome PoolMachine::reserve(const JobRequest& job, const Wish& wish) {
  if (job.consumes.empty()) return inner_->reserve(job, wish);
  const std::optional<Time> begin = earliest(job, wish);
  if (!begin) return NotNow{"no room for it before the end of the resources' lease"};
  const Wish then{wish.now, *begin, wish.length};
  if (!job.slots) return hold(job, inner_->reserve(job, then));
  const std::int64_t slots = slots_over(job, {*begin, end_of(*begin, wish.length)});
  return hold(job, inner_->reserve(with_at_most(job, slots), then));
}

Machine::Outcome PoolMachine::hold_exactly(const JobRequest& job, Interval when, Time now) {
  if (auto missing = short_of(job, when)) return NotNow{std::move(*missing)};
  if (!job.slots) return hold(job, inner_->hold_exactly(job, when, now));
  return hold(job, inner_->hold_exactly(with_at_most(job, slots_over(job, when)), when, now));
}

void PoolMachine::release(JobId job, Time now) {
  if (const auto held = held_.find(job); held != held_.end()) {
    for (const Consumes& use : held->second.consumes)
      pools_.at(use.pool).used.remove(held->second.when, use.amount);
    held_.erase(held);
  }
  inner_->release(job, now);
}

Status PoolMachine::impose(const JobRequest& job, const Allocation& allocation) {
  Status imposed = inner_->impose(job, allocation);
  if (imposed) static_cast<void>(hold(job, allocation));
  return imposed;
}

Status PoolMachine::set_end(JobId job, Time end) {
  if (const auto held = held_.find(job); held != held_.end()) {
    Interval& when = held->second.when;
    for (const Consumes& use : held->second.consumes) {
      const Pool& pool = pools_.at(use.pool);
      if (end > when.end && pool.used.max_used({when.end, end}) + use.amount > pool.total)
        return fail(Errc::overcommitted, use.pool + " is promised to another job");
    }
    if (Status moved = inner_->set_end(job, end); !moved) return moved;
    for (const Consumes& use : held->second.consumes)
      pools_.at(use.pool).used.move_end(when, use.amount, end);
    when.end = end;
    return {};
  }
  return inner_->set_end(job, end);
}

void PoolMachine::check_invariants() const {
  inner_->check_invariants();
  for (const auto& [name, pool] : pools_) {
    pool.used.check_invariants();
    if (pool.used.max_used({0, kTimeMax}) > pool.total) std::abort();
  }
}

}  // namespace holon::qmanager
