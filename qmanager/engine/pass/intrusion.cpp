#include "qmanager/engine/pass/intrusion.hpp"

#include <algorithm>

#include "qmanager/engine/pass/overruns.hpp"
#include "qmanager/engine/pass/replan.hpp"

namespace holon::qmanager {

namespace {

// An advance reservation that is over uses only what its running jobs hold.
void outstay(Parts<Advances, const Plan> s, JobId id, const Advance& advance, Time now) {
  const Scheduler::State& inner = advance.inner->state();
  Units uses;
  for (const auto& [end, job] : *inner.plan().running)
    uses.add(inner.plan().machine->units_of(job));
  // The scheduler within counts no consumables of queues and environments: all of them are kept.
  uses.pools = s.plan().machine->units_of(id).pools;
  auto& intruders = s.advances().intruders;
  const auto known = intruders.find(id);
  const Time until = known == intruders.end() ? now : known->second.when.end;
  intruders.insert_or_assign(id, Intruder{std::move(uses), {advance.request.when.begin, until}});
}

// The reservations that have begun and are not over, latest start first: an overrunning job still
// occupies the units of the reservation that started last.
std::vector<Advance*> under_way(Advances& advances, Time now) {
  std::vector<Advance*> all;
  for (auto& [id, advance] : advances.all)
    if (advance.request.when.begin <= now && !advance.over(now)) all.push_back(&advance);
  std::stable_sort(all.begin(), all.end(), [](const Advance* a, const Advance* b) {
    return a->request.when.begin > b->request.when.begin;
  });
  return all;
}

std::size_t size_of(const Units& units) {
  resource::Amount size = 0;
  for (const resource::Share& share : units.allocation.shares) size += share.amount;
  for (const auto& [name, amount] : units.pools) size += amount;
  return static_cast<std::size_t>(size);
}

// The intruder holds its share until the next advance reservation begins, whose units it may then
// occupy. Returns the units that it uses without holding them.
Units hold_intruder(Parts<Jobs, Plan, Accounts, const Advances> s, JobId id, Intruder& intruder,
                    Time now) {
  Time end = std::min(stretched_end(intruder.when.begin, now), s.plan().machine->horizon().end);
  for (const auto& [other, advance] : s.advances().all)
    if (advance.request.when.begin > now) end = std::min(end, advance.request.when.begin);
  intruder.when.end = std::max(end, saturating_add(now, 1));
  Units rest = s.plan().machine->hold_what_is_left(id, intruder.uses, intruder.when, now);
  if (Job* job = s.jobs().find(id)) moved_end(s, *job, intruder.when.end);
  return rest;
}

// The units that intruders use without holding them, and the intruders. A job that uses no such
// unit any more is not an intruder.
struct Intrusion {
  Units rest;
  std::vector<JobId> who;
};
Intrusion hold_each(Parts<Jobs, Plan, Accounts, Advances> s, Time now) {
  Intrusion all;
  auto& intruders = s.advances().intruders;
  for (const auto& [id, intruder] : intruders) s.plan().machine->release(id, now);
  for (auto at = intruders.begin(); at != intruders.end();) {
    const JobId id = at->first;
    Units without = hold_intruder(s, id, at->second, now);
    const bool intrudes = !without.empty();
    if (intrudes) all.who.push_back(id);
    all.rest.add(without);
    at = intrudes || s.advances().all.contains(id) ? std::next(at) : intruders.erase(at);
  }
  return all;
}

}  // namespace

void hold_outstaying(Parts<Advances, const Plan, const Progress> s, Time now) {
  for (auto& [id, advance] : s.advances().all)
    if (advance.over(now) && (s.progress().dirty || !s.advances().intruders.contains(id)))
      outstay(s, id, advance, now);
}

void hold_intruders(Parts<Jobs, Plan, Progress, Queues, Accounts, Advances> s, Time now) {
  auto& intruders = s.advances().intruders;
  const bool due = std::any_of(intruders.begin(), intruders.end(),
                               [&](const auto& item) { return item.second.when.end <= now; });
  if (!due && (!s.progress().dirty || (intruders.empty() && !s.advances().occupied))) return;
  drop_reservations(s, now, Kept::go);
  freed(s);
  s.progress().sliced = false;
  auto [rest, who] = hold_each(s, now);
  s.advances().occupied = !rest.empty();
  for (Advance* advance : under_way(s.advances(), now)) {
    Scheduler::State& inner = state_of(*advance->inner);
    const std::size_t before = size_of(rest);
    rest = inner.plan().machine->occupy(std::move(rest));
    const bool occupied = size_of(rest) < before;
    if (!occupied && advance->intruders.empty()) continue;
    advance->intruders = occupied ? who : std::vector<JobId>{};
    advance->inner->resources_changed();
    replan(inner, now);
  }
}

}  // namespace holon::qmanager
