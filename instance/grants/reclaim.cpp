#include "instance/grants/reclaim.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

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
// In one look: each costs some passes.
constexpr std::size_t kJobsServed = 8, kAsksLookedAt = 8;
constexpr std::size_t kTriedWithout = 4;  // grants that a job may do without

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
        if (by_itself && grant->life.state == JobState::sched) at.asks.push_back({id, child});
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

// What would start, were all of these over.
Reclaim::Starts Reclaim::starts_without(std::vector<JobId> over, const std::vector<Given>& given,
                                        Time now) const {
  for (const Given& one : given) over.push_back(one.grant);
  auto starts = uses_.scheduler.starts_without(over, now, kReclaimBudget);
  if (!starts) spdlog::error(fmt::format("grant: {}", to_string(starts.error())));
  return starts ? std::move(*starts) : Starts();
}

// Of these grants those that have to be over for it to start, all others but `over` staying: as few
// of the youngest as do, and of these none that it may do without. None: it would not start.
std::vector<Reclaim::Given> Reclaim::fewest(JobId taker, const std::vector<JobId>& over,
                                            std::vector<Given> given, Time now) const {
  const auto is_enough = [&](const std::vector<Given>& some) {
    return starts_without(over, some, now).contains(taker);
  };
  const auto first = [&](std::size_t count) {
    return std::vector(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count));
  };
  if (!is_enough(given)) return {};
  std::size_t least = 0, most = given.size();
  while (least < most) {
    const std::size_t middle = least + (most - least) / 2;
    if (is_enough(first(middle)))
      most = middle;
    else
      least = middle + 1;
  }
  given = first(least);
  for (std::size_t i = 0, tried = 0; i + 1 < given.size() && tried < kTriedWithout; ++tried) {
    auto fewer = given;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (is_enough(fewer))
      given = std::move(fewer);
    else
      ++i;
  }
  return given;
}

// Whoever gives does not get it back with what it waits for.
void Reclaim::take(const std::vector<Given>& given, Standing& at, const std::string& why,
                   Time now) {
  for (const Given& taken : given) {
    uses_.lender.give_way(taken.child, taken.grant, why, now);
    at.coming_back.push_back(taken.grant);
    at.extra[taken.child] -= taken.cores;
    std::erase_if(at.given, [&](const Given& one) { return one.grant == taken.grant; });
    std::erase_if(at.asks, [&](const Wanted& wanted) {
      if (wanted.child != taken.child) return false;
      uses_.lender.give_way(wanted.child, wanted.ask, why, now);
      return true;
    });
  }
}

// Takes as few of the grants as let the job start, on the hosts where it would.
bool Reclaim::take_for(JobId taker, const std::vector<JobId>& over, std::vector<Given> given,
                       Standing& at, const std::string& why, Time now) {
  const Starts starts = starts_without(over, given, now);
  const auto its = starts.find(taker);
  if (its == starts.end()) return false;
  std::erase_if(given, [&](const Given& one) { return !is_on_one_of(one.hosts, its->second); });
  given = fewest(taker, over, std::move(given), now);
  take(given, at, why, now);
  return !given.empty();
}

// In the order in which the scheduler looks at them; not those that start with what is coming back.
std::vector<JobId> Reclaim::jobs_that_wait_for_it(const Standing& at, Time now) const {
  std::vector<JobId> over = at.coming_back;
  for (const Wanted& wanted : at.asks) over.push_back(wanted.ask);
  const Starts served = starts_without(over, {}, now);
  std::vector<std::pair<std::size_t, JobId>> jobs;
  for (const auto& [job, hosts] : starts_without(over, at.given, now))
    if (const auto outlook = uses_.scheduler.outlook(job); outlook && !served.contains(job))
      jobs.emplace_back(outlook->position, job);
  std::sort(jobs.begin(), jobs.end());
  std::vector<JobId> ids;
  for (const auto& [position, job] : jobs) ids.push_back(job);
  return ids;
}

// For jobs that somebody has submitted here, or has asked for by hand in another child.
bool Reclaim::take_for_jobs(Standing& at, Time now) {
  const std::vector<JobId> jobs = jobs_that_wait_for_it(at, now);
  bool any = false;
  for (std::size_t i = 0; i < std::min(jobs.size(), kJobsServed) && !at.given.empty(); ++i) {
    const ActiveJob* const job = uses_.jobs.find(jobs[i]);
    if (job == nullptr) continue;
    std::vector<JobId> over = at.coming_back;
    for (const Wanted& wanted : at.asks) over.push_back(wanted.ask);
    std::vector<Given> given = at.given;
    std::erase_if(given, [&](const Given& one) {
      return one.child == job->submission->wishes.grant_to;  // it would pay for itself
    });
    if (starts_without(over, {}, now).contains(jobs[i])) continue;  // by what the last one left
    any = take_for(jobs[i], over, std::move(given), at,
                   fmt::format("job {} waits for it", uses_.jobs.label_of(jobs[i])), now) ||
          any;
  }
  return any;
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
bool Reclaim::take_for_a_child(Standing& at, Time now) {
  std::vector<Wanted> asks = at.asks;
  const auto place = [&](const Wanted& wanted) {
    const auto extra = at.extra.find(wanted.child);
    return std::pair(extra == at.extra.end() ? 0 : extra->second, wanted.ask);
  };
  std::sort(asks.begin(), asks.end(),
            [&](const Wanted& a, const Wanted& b) { return place(a) < place(b); });
  asks.resize(std::min(asks.size(), kAsksLookedAt));
  for (const Wanted& wanted : asks) {
    std::vector<JobId> over = at.coming_back;
    for (const Wanted& other : at.asks)
      if (other.ask != wanted.ask) over.push_back(other.ask);
    if (starts_without(over, {}, now).contains(wanted.ask)) continue;  // it comes as it is
    const auto why = fmt::format("{} has less", uses_.jobs.path_of(wanted.child));
    if (take_for(wanted.ask, over, given_by_better_off(at, wanted.child), at, why, now))
      return true;
  }
  return false;
}

std::optional<Time> Reclaim::turn(Time now) {
  if (uses_.jobs.grants().empty() || uses_.scheduler.pending() == 0 || !uses_.jobs.settled())
    return std::nullopt;
  if (now < not_before_) return not_before_;
  not_before_ = now + kReclaimInterval;
  Standing at = standing(now);
  if (at.given.empty()) return at.next;
  const std::int64_t begun = monotonic_us();
  if (!take_for_jobs(at, now)) take_for_a_child(at, now);
  const Duration rest = kRestAfterReclaim * (monotonic_us() - begun) / 1'000;
  if (rest > kReclaimInterval) not_before_ = now + rest;
  return not_before_;
}

}  // namespace holon::instance
