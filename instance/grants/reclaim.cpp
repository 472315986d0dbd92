#include "instance/grants/reclaim.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "holdings/policy.hpp"
#include "instance/basics/clock.hpp"
#include "instance/grants/units.hpp"
#include "instance/request/placement.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;

// A look costs some passes of the scheduler: so long between two, and so often what the last took.
constexpr Duration kReclaimInterval = 1'000;  // ms
constexpr std::int64_t kRestAfterReclaim = 20;
constexpr qmanager::Budget kReclaimBudget{.jobs = 1'024};
constexpr std::size_t kAsksLookedAt = 8;  // each costs two passes and more

std::vector<JobId> ids_of(const std::vector<const ActiveJob*>& jobs) {
  std::vector<JobId> ids;
  for (const ActiveJob* job : jobs) ids.push_back(job->id);
  return ids;
}

bool is_on_one_of(const std::vector<std::string>& hosts, const std::vector<std::string>& others) {
  return std::find_first_of(hosts.begin(), hosts.end(), others.begin(), others.end()) !=
         hosts.end();
}

}  // namespace

Reclaim::Standing Reclaim::standing(Time now) const {
  Standing at;
  for (const auto& [child, grants] : uses_.jobs.grants())
    for (const JobId id : grants) {
      const ActiveJob* grant = uses_.jobs.find(id);
      if (grant == nullptr) continue;
      const bool by_itself = grant->submission->wishes.by_itself;
      if (!grant->life.holds_resources || !grant->allocation) {
        if (by_itself && grant->life.state == JobState::sched) at.asks.push_back(grant);
        continue;
      }
      if (uses_.lender.is_going_back(child, *grant)) {
        at.coming_back.push_back(id);
        continue;
      }
      Given given{id, child, grant->life.t_start};
      for (const PlacedNode& node : nodes_of(uses_.store.graph(), *grant->allocation)) {
        given.cores += static_cast<std::int64_t>(node.cores.size());
        given.hosts.push_back(node.host);
      }
      at.extra[child] += given.cores;
      const Time until = saturating_add(given.since, uses_.config.grant_hold);
      if (!by_itself || !grant->life.started) continue;
      if (until > now)
        at.next = std::min(at.next.value_or(until), until);
      else
        at.given.push_back(std::move(given));
    }
  std::sort(at.given.begin(), at.given.end(), [](const Given& a, const Given& b) {
    return std::pair(a.since, a.grant) > std::pair(b.since, b.grant);
  });
  return at;
}

// What would start, were those in `over` and the first `count` of the grants over.
Reclaim::Starts Reclaim::starts_without(std::vector<JobId> over, const std::vector<Given>& given,
                                        std::size_t count, Time now) const {
  for (std::size_t i = 0; i < count; ++i) over.push_back(given[i].grant);
  return uses_.scheduler.starts_without(over, now, kReclaimBudget).value_or(Starts());
}

// How many of the grants have to be over for it; nullopt: it would not start without all of them.
std::optional<std::size_t> Reclaim::fewest(JobId taker, const std::vector<JobId>& over,
                                           const std::vector<Given>& given, Time now) const {
  const auto is_enough = [&](std::size_t count) {
    return starts_without(over, given, count, now).contains(taker);
  };
  if (!is_enough(given.size())) return std::nullopt;
  std::size_t least = 0, most = given.size();
  while (least < most) {
    const std::size_t middle = least + (most - least) / 2;
    if (is_enough(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

// Whoever gives does not get it back with what it waits for.
void Reclaim::take(const std::vector<Given>& given, std::size_t count, const Standing& at,
                   const std::string& why, Time now) {
  std::set<JobId> givers;
  for (std::size_t i = 0; i < count; ++i) {
    uses_.lender.give_way(given[i].child, given[i].grant, why, now);
    givers.insert(given[i].child);
  }
  for (const ActiveJob* ask : at.asks)
    if (const JobId child = ask->submission->wishes.grant_to; givers.contains(child))
      uses_.lender.give_way(child, ask->id, why, now);
}

// Takes as few of the grants as let the job start, on the hosts where it would.
bool Reclaim::take_for(JobId taker, const std::vector<JobId>& over, std::vector<Given> given,
                       const Standing& at, const std::string& why, Time now) {
  const Starts starts = starts_without(over, given, given.size(), now);
  const auto its = starts.find(taker);
  if (its == starts.end()) return false;
  std::erase_if(given, [&](const Given& one) { return !is_on_one_of(one.hosts, its->second); });
  const auto count = fewest(taker, over, given, now);
  if (!count || *count == 0) return false;
  take(given, *count, at, why, now);
  return true;
}

// For the first in its queue of the jobs that wait for what children have got by themselves, also
// if a person in another child has asked for it.
bool Reclaim::take_for_a_job(const Standing& at, Time now) {
  std::vector<JobId> over = ids_of(at.asks);
  over.insert(over.end(), at.coming_back.begin(), at.coming_back.end());
  const Starts served = starts_without(over, {}, 0, now);
  const Starts starts = starts_without(over, at.given, at.given.size(), now);
  std::optional<std::pair<std::size_t, JobId>> first;
  for (const auto& [job, hosts] : starts) {
    if (served.contains(job)) continue;
    const auto outlook = uses_.scheduler.outlook(job);
    if (!outlook) continue;
    const std::pair place(outlook->position, job);
    first = std::min(first.value_or(place), place);
  }
  const ActiveJob* const job = first ? uses_.jobs.find(first->second) : nullptr;
  if (job == nullptr) return false;
  std::vector<Given> given = at.given;
  std::erase_if(given, [&](const Given& one) {
    return one.child == job->submission->wishes.grant_to;  // it would pay for itself
  });
  return take_for(job->id, over, std::move(given), at,
                  fmt::format("job {} waits for it", uses_.jobs.label_of(job->id)), now);
}

// The grants that may go to the child: whoever has them has more beyond its own even then.
std::vector<Reclaim::Given> Reclaim::given_by_better_off(const Standing& at, JobId taker) const {
  h::Tree tree;
  tree.total = {static_cast<std::int64_t>(uses_.store.graph().by_type("core").size())};
  tree.parties.push_back({.path = "/", .owned = {0}, .held = {0}});
  std::map<JobId, std::size_t> places;
  const auto add = [&](JobId child, std::int64_t extra) {
    places[child] = tree.parties.size();
    tree.parties.push_back(
        {.path = uses_.jobs.path_of(child), .parent = 0, .owned = {0}, .held = {extra}});
  };
  for (const auto& [child, extra] : at.extra) add(child, extra);
  if (!places.contains(taker)) add(taker, 0);
  std::vector<Given> given;
  for (const Given& one : at.given) {
    const std::size_t giver = places.at(one.child), its = places.at(taker);
    if (giver == its || !h::improves(tree, its, giver, 0, one.cores, h::PolicyTerms().margin))
      continue;
    tree = h::moved(std::move(tree), {giver, its, 0, one.cores, true});
    given.push_back(one);
  }
  return given;
}

// For the child that has least beyond its own, of those that ask by themselves.
bool Reclaim::take_for_a_child(const Standing& at, Time now) {
  std::vector<const ActiveJob*> asks = at.asks;
  const auto place = [&](const ActiveJob* ask) {
    const auto extra = at.extra.find(ask->submission->wishes.grant_to);
    return std::pair(extra == at.extra.end() ? 0 : extra->second, ask->id);
  };
  std::sort(asks.begin(), asks.end(),
            [&](const auto* a, const auto* b) { return place(a) < place(b); });
  asks.resize(std::min(asks.size(), kAsksLookedAt));
  for (const ActiveJob* ask : asks) {
    const JobId child = ask->submission->wishes.grant_to;
    std::vector<JobId> over = at.coming_back;
    for (const ActiveJob* other : at.asks)
      if (other != ask) over.push_back(other->id);
    if (starts_without(over, {}, 0, now).contains(ask->id)) continue;  // it comes as it is
    const auto why = fmt::format("{} has less", uses_.jobs.path_of(child));
    if (take_for(ask->id, over, given_by_better_off(at, child), at, why, now)) return true;
  }
  return false;
}

std::optional<Time> Reclaim::turn(Time now) {
  if (uses_.jobs.grants().empty() || uses_.scheduler.pending() == 0 || !uses_.jobs.settled())
    return std::nullopt;
  if (now < not_before_) return not_before_;
  const Standing at = standing(now);
  if (at.given.empty()) return at.next;
  const std::int64_t begun = monotonic_us();
  if (!take_for_a_job(at, now)) take_for_a_child(at, now);
  const Duration took = (monotonic_us() - begun) / 1'000;
  not_before_ = now + std::max(kReclaimInterval, kRestAfterReclaim * took);
  return not_before_;
}

}  // namespace holon::instance
