#include "qmanager/machine/environment_machine.hpp"

#include <algorithm>
#include <utility>

#include "qmanager/machine/environment_entry.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::Never;

JobRequest EnvironmentMachine::in(const JobRequest& job, const std::string& environment) const {
  JobRequest one = job;
  one.environments.clear();
  // Environments in which the job can never run were left out when it came.
  static_cast<void>(enter_environment(one, environment, environments_->at(environment)));
  return one;
}

std::vector<JobRequest> EnvironmentMachine::each(const JobRequest& job) const {
  if (job.environments.empty()) return {job};
  std::vector<JobRequest> all;
  for (const std::string& environment : job.environments) all.push_back(in(job, environment));
  return all;
}

JobRequest EnvironmentMachine::settled(const JobRequest& job) const {
  const auto found = chosen_->find(job.id);
  return job.environments.empty() || found == chosen_->end() ? job : in(job, found->second);
}

Result<std::optional<std::string>> EnvironmentMachine::refuses(const JobRequest& job, Time now,
                                                               Duration length) const {
  if (job.environments.empty()) return below().refuses(job, now, length);
  std::optional<Result<std::optional<std::string>>> first;
  for (const JobRequest& one : each(job)) {
    auto refusal = below().refuses(one, now, length);
    if (refusal && !*refusal) return refusal;
    if (!first) first = std::move(refusal);
  }
  return std::move(*first);
}

ShapeId EnvironmentMachine::shape_of(const JobRequest& job) const {
  std::vector<ShapeId> within;
  if (job.environments.empty())
    within.push_back(below().shape_of(job));
  else
    for (const JobRequest& one : each(job)) within.push_back(below().shape_of(one));
  if (const auto known = shapes_->find(within); known != shapes_->end()) return known->second;
  const auto id = static_cast<ShapeId>(shapes_->size());
  shapes_.edit().emplace(std::move(within), id);
  return id;
}

bool EnvironmentMachine::placeable(const JobRequest& job) const {
  if (job.environments.empty()) return below().placeable(job);
  const auto all = each(job);
  return std::any_of(all.begin(), all.end(),
                     [&](const JobRequest& one) { return below().placeable(one); });
}

bool EnvironmentMachine::hopeless(const JobRequest& job, Time now) const {
  if (job.environments.empty()) return below().hopeless(job, now);
  const auto all = each(job);
  return std::all_of(all.begin(), all.end(),
                     [&](const JobRequest& one) { return below().hopeless(one, now); });
}

std::optional<Shortage> EnvironmentMachine::shortage(const JobRequest& job, Interval when) const {
  if (job.environments.empty()) return below().shortage(job, when);
  std::optional<Shortage> first;
  for (const JobRequest& one : each(job)) {
    auto missing = below().shortage(one, when);
    if (!missing) return std::nullopt;
    if (!first) first = std::move(missing);
  }
  return first;
}

// `hold` holds something for the given job, or does not.
template <class Hold>
Machine::Outcome EnvironmentMachine::where_it_gets_most(std::vector<JobRequest> choices, Time now,
                                                        Hold hold) {
  const JobId id = choices.front().id;
  const bool ranged = std::any_of(choices.begin(), choices.end(),
                                  [](const JobRequest& one) { return one.slots.has_value(); });
  const JobRequest* best = nullptr;
  std::int64_t most = 0;
  std::optional<Outcome> failed;
  for (const JobRequest& one : choices) {
    Outcome outcome = hold(one);
    if (!std::holds_alternative<Allocation>(outcome)) {
      // Never is the answer only if it is every choice's.
      if (!failed || std::holds_alternative<Never>(*failed)) failed = std::move(outcome);
      continue;
    }
    const std::int64_t procs = below().procs_held(id);
    if (!ranged || (&one == &choices.back() && procs > most)) {
      chosen_.edit()[id] = one.environment;
      return outcome;
    }
    below().release(id, now);
    if (procs > most) most = procs, best = &one;
  }
  if (best == nullptr) return std::move(*failed);
  chosen_.edit()[id] = best->environment;
  return hold(*best);
}

Machine::Outcome EnvironmentMachine::start(const JobRequest& job, Time now, Duration length) {
  if (job.environments.empty()) return below().start(job, now, length);
  return where_it_gets_most(each(job), now,
                            [&](const JobRequest& one) { return below().start(one, now, length); });
}

Machine::Outcome EnvironmentMachine::hold_exactly(const JobRequest& job, Interval when, Time now) {
  if (job.environments.empty()) return below().hold_exactly(job, when, now);
  return where_it_gets_most(
      each(job), now, [&](const JobRequest& one) { return below().hold_exactly(one, when, now); });
}

Machine::Outcome EnvironmentMachine::reserve(const JobRequest& job, const Wish& wish) {
  if (job.environments.empty()) return below().reserve(job, wish);
  std::vector<JobRequest> earliest;
  std::optional<Time> first;
  for (JobRequest& one : each(job)) {
    const auto begin = below().earliest(one, wish);
    if (begin && (!first || *begin < *first)) first = begin, earliest.clear();
    if (begin == first) earliest.push_back(std::move(one));
  }
  return where_it_gets_most(std::move(earliest), wish.now,
                            [&](const JobRequest& one) { return below().reserve(one, wish); });
}

std::optional<Time> EnvironmentMachine::earliest(const JobRequest& job, const Wish& wish) const {
  if (job.environments.empty()) return below().earliest(job, wish);
  std::optional<Time> earliest;
  for (const JobRequest& one : each(job)) {
    const auto begin = below().earliest(one, wish);
    if (begin && (!earliest || *begin < *earliest)) earliest = begin;
  }
  return earliest;
}

void EnvironmentMachine::release(JobId job, Time now) {
  below().release(job, now);
  if (chosen_->contains(job)) chosen_.edit().erase(job);
}

// A job says in which environment it runs; an advance reservation does not: the first is as good
// as any.
Status EnvironmentMachine::impose(const JobRequest& job, const Allocation& allocation) {
  return below().impose(each(job).front(), allocation);
}

}  // namespace holon::qmanager
