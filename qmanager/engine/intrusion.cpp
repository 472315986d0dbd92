// intrusion.cpp - jobs that go on using the units of an advance reservation (intruders): jobs that
// overrun their limits into the reservation, and jobs of another reservation that is over.
//
// No job is ended for this. In the plan an intruder holds those of its units that no other job has
// from now on; the advance reservation keeps its span and gives its own jobs only units that the
// intruder does not use. So each unit in use is known to one of the two, and all other jobs are
// planned as before. Both shares are computed anew in every pass that finds something freed.
#include <algorithm>

#include "qmanager/engine/pass.hpp"

namespace holon::qmanager {

// An advance reservation that is over keeps the units of its jobs as long as they run, as an
// overrunning job does.
void Pass::hold_outstaying() {
  for (auto& [id, advance] : s_.advances)
    if (advance.over(now_) && (s_.dirty || !s_.intruders.contains(id))) outstay(id, advance);
}

// A reservation that is over uses only what its running jobs hold.
void Pass::outstay(JobId id, const Advance& advance) {
  const Scheduler::State& inner = *advance.inner->state_;
  Units uses;
  for (const auto& [end, job] : *inner.running_by_end) uses.add(inner.machine->units_of(job));
  // The scheduler within counts no consumables of queues and environments: all of them are kept.
  uses.pools = s_.machine->units_of(id).pools;
  const auto known = s_.intruders.find(id);
  const Time until = known == s_.intruders.end() ? now_ : known->second.when.end;
  s_.intruders.insert_or_assign(id, Intruder{std::move(uses), {advance.request.when.begin, until}});
}

namespace {

// The reservations that have begun and are not over, latest start first: an overrunning job still
// occupies the units of the reservation that started last.
std::vector<Advance*> under_way(Scheduler::State& s, Time now) {
  std::vector<Advance*> all;
  for (auto& [id, advance] : s.advances)
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

}  // namespace

void Pass::hold_intruders() {
  const bool due = std::any_of(s_.intruders.begin(), s_.intruders.end(),
                               [&](const auto& item) { return item.second.when.end <= now_; });
  if (!due && (!s_.dirty || (s_.intruders.empty() && !s_.occupied))) return;
  drop_reservations(true);
  s_.freed();
  s_.sliced = false;
  for (const auto& [id, intruder] : s_.intruders) s_.machine->release(id, now_);
  Units rest;
  std::vector<JobId> who;
  for (auto at = s_.intruders.begin(); at != s_.intruders.end();) {
    const JobId id = at->first;
    Units without = hold_intruder(id, at->second);
    const bool intrudes = !without.empty();
    if (intrudes) who.push_back(id);
    rest.add(without);
    at = intrudes || s_.advances.contains(id) ? std::next(at) : s_.intruders.erase(at);
  }
  s_.occupied = !rest.empty();
  for (Advance* advance : under_way(s_, now_)) {
    Scheduler::State& inner = *advance->inner->state_;
    const std::size_t before = size_of(rest);
    rest = inner.machine->occupy(std::move(rest));
    const bool occupied = size_of(rest) < before;
    if (!occupied && advance->intruders.empty()) continue;
    advance->intruders = occupied ? who : std::vector<JobId>{};
    advance->inner->resources_changed();
    Pass(inner, now_, {}).replan();
  }
}

// The intruder holds its share until the next advance reservation begins, whose units it may then
// occupy. Returns the units that it uses without holding them.
Units Pass::hold_intruder(JobId id, Intruder& intruder) {
  Time end = std::min(stretched_end(intruder.when.begin, now_), s_.machine->horizon().end);
  for (const auto& [other, advance] : s_.advances)
    if (advance.request.when.begin > now_) end = std::min(end, advance.request.when.begin);
  intruder.when.end = std::max(end, saturating_add(now_, 1));
  Units rest = s_.machine->hold_what_is_left(id, intruder.uses, intruder.when, now_);
  if (Job* job = s_.find(id)) s_.moved_end(*job, intruder.when.end);
  return rest;
}

}  // namespace holon::qmanager
