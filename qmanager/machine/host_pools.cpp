#include "qmanager/machine/host_pools.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

namespace holon::qmanager {

namespace {

std::string name_on_host(const std::pair<std::string, std::string>& place) {
  return fmt::format("{}@{}", place.first, place.second);
}

// Slots that `free` units suffice for; INT64_MAX: any number.
std::int64_t slots_in(const Consumes& use, resource::Amount free) {
  if (use.amount == 0) return INT64_MAX;
  return std::max<resource::Amount>(0, free) / use.amount;
}

}  // namespace

std::int64_t HostPools::slots_at_most(const std::vector<Consumes>& uses) const {
  std::int64_t slots = INT64_MAX;
  for (const Consumes& use : uses) {
    const std::int64_t here = slots_in(use, each_.at(use.pool));
    if (use.per_slot || here == 0) slots = std::min(slots, here);
  }
  return slots;
}

std::string HostPools::too_much(const std::vector<Consumes>& uses) const {
  for (const Consumes& use : uses) {
    const std::size_t cut = use.pool.find('@');
    if (const resource::Amount has = each_.at(use.pool); use.amount > has)
      return fmt::format("asks for {} {}{}, and each node has {} for the jobs of queue {}",
                         use.amount, use.pool.substr(0, cut), use.per_slot ? " a slot" : "", has,
                         use.pool.substr(cut + 1));
  }
  return "asks for more slots than all nodes have room for beside the consumables of its queue";
}

resource::Amount HostPools::free(const Place& place, Interval when) const {
  const auto used = used_.find(place);
  return each_.at(place.first) - (used == used_.end() ? 0 : used->second.max_used(when));
}

std::int64_t HostPools::slots_on(const std::string& host, const std::vector<Consumes>& uses,
                                 Interval when) const {
  std::int64_t slots = INT64_MAX;
  for (const Consumes& use : uses)
    if (use.per_slot) slots = std::min(slots, slots_in(use, free({use.pool, host}, when)));
  return slots;
}

bool HostPools::may_be_first(const std::string& host, const std::vector<Consumes>& uses,
                             Interval when) const {
  return std::all_of(uses.begin(), uses.end(), [&](const Consumes& use) {
    return use.per_slot || free({use.pool, host}, when) >= use.amount;
  });
}

bool HostPools::fits(const std::vector<Consumes>& uses, const HostSlots& slots,
                     Interval when) const {
  if (slots.empty()) return true;
  return may_be_first(slots.front().first, uses, when) &&
         std::all_of(slots.begin(), slots.end(), [&](const auto& host) {
           return host.second <= slots_on(host.first, uses, when);
         });
}

void HostPools::hold(JobId job, std::map<Place, resource::Amount> amounts, Interval when) {
  std::erase_if(amounts, [](const auto& item) { return item.second == 0; });
  if (amounts.empty()) return;
  for (const auto& [place, amount] : amounts) used_[place].add(when, amount);
  held_[job] = {when, std::move(amounts)};
}

void HostPools::hold(JobId job, const std::vector<Consumes>& uses, const HostSlots& slots,
                     Interval when) {
  std::map<Place, resource::Amount> amounts;
  for (const Consumes& use : uses)
    for (const auto& [host, count] : slots) {
      amounts[{use.pool, host}] += use.per_slot ? use.amount * count : use.amount;
      if (!use.per_slot) break;
    }
  hold(job, std::move(amounts), when);
}

void HostPools::release(JobId job) {
  const auto held = held_.find(job);
  if (held == held_.end()) return;
  for (const auto& [place, amount] : held->second.amounts) {
    const auto used = used_.find(place);
    used->second.remove(held->second.when, amount);
    if (used->second.empty()) used_.erase(used);
  }
  held_.erase(held);
}

Status HostPools::check_end(JobId job, Time end) const {
  const auto held = held_.find(job);
  if (held == held_.end() || end <= held->second.when.end) return {};
  for (const auto& [place, amount] : held->second.amounts)
    if (free(place, {held->second.when.end, end}) < amount)
      return fail(Errc::overcommitted,
                  fmt::format("{} is reserved for another job", name_on_host(place)));
  return {};
}

void HostPools::set_end(JobId job, Time end) {
  const auto held = held_.find(job);
  if (held == held_.end()) return;
  for (const auto& [place, amount] : held->second.amounts)
    used_.at(place).move_end(held->second.when, amount, end);
  held->second.when.end = end;
}

std::map<std::string, resource::Amount> HostPools::held_by(JobId job) const {
  std::map<std::string, resource::Amount> all;
  if (const auto held = held_.find(job); held != held_.end())
    for (const auto& [place, amount] : held->second.amounts) all[name_on_host(place)] = amount;
  return all;
}

std::map<std::string, resource::Amount> HostPools::hold_what_is_left(
    JobId job, const std::map<std::string, resource::Amount>& wanted, Interval when) {
  std::map<std::string, resource::Amount> rest;
  std::map<Place, resource::Amount> mine;
  for (const auto& [name, amount] : wanted) {
    const std::size_t cut = name.rfind('@');
    if (cut == std::string::npos || !each_.contains(name.substr(0, cut))) continue;
    const Place place{name.substr(0, cut), name.substr(cut + 1)};
    mine[place] = std::clamp<resource::Amount>(free(place, when), 0, amount);
    if (mine[place] < amount) rest[name] = amount - mine[place];
  }
  hold(job, std::move(mine), when);
  return rest;
}

void HostPools::check_invariants() const {
  for (const auto& [place, used] : used_) {
    used.check_invariants();
    if (used.max_used({0, kTimeMax}) > each_.at(place.first)) std::abort();
  }
}

}  // namespace holon::qmanager
