#include "qmanager/machine/pool_machine.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "qmanager/slots.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::NotNow;

PoolMachine::PoolMachine(std::unique_ptr<Machine> below,
                         const std::map<std::string, resource::Amount>& pools)
    : Layer(std::move(below)) {
  for (const auto& [name, total] : pools) pools_[name].total = total;
}

Result<std::optional<std::string>> PoolMachine::refuses(const JobRequest& job, Time now,
                                                        Duration length) const {
  for (const Consumes& use : job.consumes) {
    const auto pool = pools_.find(use.pool);
    if (pool == pools_.end()) return fmt::format("there is no consumable \"{}\" here", use.pool);
    if (use.amount < 0)
      return fail(Errc::invalid_argument, "a negative amount of " + use.pool, "consumes");
    if (least(job, use) > pool->second.total)
      return fmt::format("asks for {} {}, there are {}", least(job, use), use.pool,
                         pool->second.total);
  }
  return below().refuses(job, now, length);
}

ShapeId PoolMachine::shape_of(const JobRequest& job) const {
  std::string needs;
  for (const Consumes& use : job.consumes)
    needs += fmt::format("{}={};", use.pool, least(job, use));
  const std::pair content(below().shape_of(job), std::move(needs));
  if (const auto known = shapes_->find(content); known != shapes_->end()) return known->second;
  const auto id = static_cast<ShapeId>(shapes_->size());
  shapes_.edit().emplace(content, id);
  return id;
}

Time PoolMachine::end_of(Time begin, Duration length) const {
  return length == kTimeMax ? horizon().end : saturating_add(begin, length);
}

std::optional<PoolMachine::Lack> PoolMachine::lack(const JobRequest& job, Interval when) const {
  for (const Consumes& use : job.consumes) {
    const Pool& pool = pools_.at(use.pool);
    const resource::Amount free = pool.capacity() - pool.used.max_used(when);
    if (least(job, use) > free) return Lack{&use.pool, least(job, use), free};
  }
  return std::nullopt;
}

std::string PoolMachine::text(const Lack& lack) const {
  return fmt::format("it needs {} {}, {} of {} {} free", lack.wanted, *lack.pool, lack.free,
                     pools_.at(*lack.pool).total, lack.free == 1 ? "is" : "are");
}

std::optional<Shortage> PoolMachine::shortage(const JobRequest& job, Interval when) const {
  const auto missing = lack(job, when);
  if (!missing) return below().shortage(job, when);
  std::vector<std::pair<Time, std::pair<JobId, resource::Amount>>> by_end;
  for (const auto& [id, held] : *held_)
    for (const Consumes& use : held.consumes)
      if (use.pool == *missing->pool && use.amount > 0 && held.when.begin < when.end &&
          when.begin < held.when.end)
        by_end.push_back({held.when.end, {id, use.amount}});
  std::sort(by_end.begin(), by_end.end());
  Shortage shortage{text(*missing), {}};
  for (const auto& [end, holder] : by_end) shortage.holders.push_back(holder);
  return shortage;
}

// The amount that the job's smallest number of slots needs; INT64_MAX where it overflows.
resource::Amount PoolMachine::least(const JobRequest& job, const Consumes& use) {
  const std::int64_t slots = use.per_slot ? least_slots(job) : 1;
  constexpr resource::Amount kMost = INT64_MAX;
  return slots > 0 && use.amount > kMost / slots ? kMost : use.amount * slots;
}

std::int64_t PoolMachine::slots_over(const JobRequest& job, Interval when) const {
  std::int64_t slots = resource::kMaxCount;
  for (const Consumes& use : job.consumes) {
    if (!use.per_slot || use.amount == 0) continue;
    const Pool& pool = pools_.at(use.pool);
    slots = std::min(slots, (pool.capacity() - pool.used.max_used(when)) / use.amount);
  }
  return slots;
}

bool PoolMachine::hopeless(const JobRequest& job, Time now) const {
  return below().hopeless(job, now) || lack(job, {now, saturating_add(now, 1)});
}

Machine::Outcome PoolMachine::hold(const JobRequest& job, Outcome outcome) {
  const auto* allocation = std::get_if<Allocation>(&outcome);
  if (allocation == nullptr || job.consumes.empty()) return outcome;
  Held held{job.consumes, allocation->when};
  // The number of slots grows from the smallest one with the processors that the job got.
  const std::int64_t slots = least_slots(job) *
                             std::max<std::int64_t>(1, below().procs_held(job.id)) /
                             std::max<std::int64_t>(1, job.procs);
  for (Consumes& use : held.consumes) {
    if (use.per_slot) use = {use.pool, use.amount * (job.slots ? slots : least_slots(job)), false};
    pools_.at(use.pool).used.add(allocation->when, use.amount);
  }
  held_.edit()[job.id] = std::move(held);
  return outcome;
}

Machine::Outcome PoolMachine::start(const JobRequest& job, Time now, Duration length) {
  const Interval when{now, end_of(now, length)};
  if (const auto missing = lack(job, when)) return NotNow{text(*missing)};
  if (!job.slots) return hold(job, below().start(job, now, length));
  return hold(job, below().start(with_at_most(job, slots_over(job, when)), now, length));
}

std::optional<Time> PoolMachine::pools_fit(const JobRequest& job, Time from,
                                           Duration length) const {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Consumes& use : job.consumes) {
      const Pool& pool = pools_.at(use.pool);
      const auto fit = pool.used.earliest_window({.from = from,
                                                  .end = kTimeMax,
                                                  .length = length,
                                                  .cap = pool.capacity() - least(job, use)});
      if (!fit) return std::nullopt;
      moved = moved || *fit > from;
      from = *fit;
    }
  }
  return from;
}

// Each side pushes the time on until both agree. Ends: the time grows in each round, and always to
// a point of one of the plans, of which there are finitely many.
std::optional<Time> PoolMachine::earliest(const JobRequest& job, const Wish& wish) const {
  Wish next = wish;
  for (;;) {
    const auto pools = pools_fit(job, next.not_before, wish.length);
    if (!pools) return std::nullopt;
    next.not_before = *pools;
    const auto below_fits = below().earliest(job, next);
    if (!below_fits || *below_fits <= *pools) return below_fits;
    next.not_before = *below_fits;
  }
}

Machine::Outcome PoolMachine::reserve(const JobRequest& job, const Wish& wish) {
  if (job.consumes.empty()) return below().reserve(job, wish);
  const std::optional<Time> begin = earliest(job, wish);
  if (!begin) return NotNow{"no room for it before the end of the resources' lease"};
  const Wish then{wish.now, *begin, wish.length};
  if (!job.slots) return hold(job, below().reserve(job, then));
  const std::int64_t slots = slots_over(job, {*begin, end_of(*begin, wish.length)});
  return hold(job, below().reserve(with_at_most(job, slots), then));
}

Machine::Outcome PoolMachine::hold_exactly(const JobRequest& job, Interval when, Time now) {
  if (const auto missing = lack(job, when)) return NotNow{text(*missing)};
  if (!job.slots) return hold(job, below().hold_exactly(job, when, now));
  return hold(job, below().hold_exactly(with_at_most(job, slots_over(job, when)), when, now));
}

void PoolMachine::release(JobId job, Time now) {
  if (const auto held = held_->find(job); held != held_->end()) {
    for (const Consumes& use : held->second.consumes)
      pools_.at(use.pool).used.remove(held->second.when, use.amount);
    held_.edit().erase(job);
  }
  below().release(job, now);
}

Status PoolMachine::impose(const JobRequest& job, const Allocation& allocation) {
  Status imposed = below().impose(job, allocation);
  if (imposed) static_cast<void>(hold(job, allocation));
  return imposed;
}

Status PoolMachine::set_end(JobId job, Time end) {
  if (const auto held = held_->find(job); held != held_->end()) {
    const Interval when = held->second.when;
    for (const Consumes& use : held->second.consumes) {
      const Pool& pool = pools_.at(use.pool);
      if (end > when.end && pool.used.max_used({when.end, end}) + use.amount > pool.capacity())
        return fail(Errc::overcommitted, use.pool + " is reserved for another job");
    }
    if (Status moved = below().set_end(job, end); !moved) return moved;
    for (const Consumes& use : held->second.consumes)
      pools_.at(use.pool).used.move_end(when, use.amount, end);
    held_.edit().at(job).when.end = end;
    return {};
  }
  return below().set_end(job, end);
}

Units PoolMachine::units_of(JobId job) const {
  Units units = below().units_of(job);
  if (const auto held = held_->find(job); held != held_->end())
    for (const Consumes& use : held->second.consumes)
      if (use.amount > 0) units.pools[use.pool] += use.amount;
  return units;
}

Units PoolMachine::hold_what_is_left(JobId job, const Units& units, Interval when, Time now) {
  Units rest = below().hold_what_is_left(job, units, when, now);
  Held held{{}, {now, when.end}};
  for (const auto& [name, wanted] : units.pools) {
    const auto found = pools_.find(name);
    if (found == pools_.end()) continue;  // of hosts: the machine below has them
    Pool& pool = found->second;
    const resource::Amount free = pool.capacity() - pool.used.max_used(held.when);
    const resource::Amount mine = std::clamp<resource::Amount>(free, 0, wanted);
    if (mine < wanted) rest.pools[name] = wanted - mine;
    if (mine == 0) continue;
    pool.used.add(held.when, mine);
    held.consumes.push_back({name, mine, false});
  }
  if (!held.consumes.empty()) held_.edit()[job] = std::move(held);
  return rest;
}

Units PoolMachine::occupy(Units units) {
  for (auto& [name, pool] : pools_) {
    const auto used = units.pools.find(name);
    pool.occupied = used == units.pools.end() ? 0 : std::min(used->second, pool.total);
    if (pool.occupied > 0 && (used->second -= pool.occupied) == 0) units.pools.erase(used);
  }
  return below().occupy(std::move(units));
}

void PoolMachine::check_invariants() const {
  below().check_invariants();
  for (const auto& [name, pool] : pools_) {
    pool.used.check_invariants();
    if (pool.used.max_used({0, kTimeMax}) > pool.total) std::abort();
  }
}

}  // namespace holon::qmanager
