#include "qmanager/engine/admit.hpp"

#include <fmt/core.h>
#include <fnmatch.h>

#include <utility>

#include "qmanager/machine/environment_entry.hpp"
#include "qmanager/slots.hpp"

namespace holon::qmanager {

namespace {

std::string of_queue(const std::string& pool, const std::string& queue) {
  return fmt::format("{}@{}", pool, queue);
}

// The first consumable requested that no pool usable by the job provides; inside an advance
// reservation, only pools reserved with it are usable.
std::optional<std::string> unknown_pool(const Scheduler::State& state, const JobRequest& job,
                                        const Queue& queue) {
  for (const Consumes& use : job.consumes)
    if (!queue.config.pools.contains(use.pool) && !state.config().pools.contains(use.pool))
      return fmt::format("there is no consumable \"{}\" here", use.pool);
  return std::nullopt;
}

// The queue's own pools of the same name are debited as well, as Grid Engine does at every level:
// on each host that the job is on, or of a machine without hosts.
void add_queue_pools(const Scheduler::State& state, JobRequest& job, const Queue& queue) {
  if (job.consumes.empty() && !queue.config.slots) return;
  std::vector<Consumes> all;
  std::vector<Consumes> of_hosts;
  for (const Consumes& use : job.consumes) {
    const bool here = queue.config.pools.contains(use.pool);
    if (!here || state.config().pools.contains(use.pool)) all.push_back(use);
    if (here) of_hosts.push_back({of_queue(use.pool, queue.name), use.amount, use.per_slot});
  }
  if (queue.config.slots) of_hosts.push_back({of_queue("slots", queue.name), 1, true});
  if (!state.has_hosts) all.insert(all.end(), of_hosts.begin(), of_hosts.end());
  if (state.has_hosts) job.on_hosts = std::move(of_hosts);
  job.consumes = std::move(all);
}

// The environments that match the job's name or pattern and that the job may use, by name; where
// there is none, the text that says why.
struct Choice {
  std::vector<std::string> names;
  std::string refusal;
};
Choice environments_for(const SchedulerConfig& config, const JobRequest& job, Arrives arrives) {
  Choice choice;
  const bool exact = config.environments.contains(job.environment);
  for (const auto& [name, environment] : config.environments) {
    if (exact ? name != job.environment : fnmatch(job.environment.c_str(), name.c_str(), 0) != 0)
      continue;
    JobRequest there = job;
    std::optional<std::string> refusal;
    if (arrives == Arrives::anew && !environment.access.admits(job.user, job.group))
      refusal = fmt::format("parallel environment {} is not for user \"{}\"", name, job.user);
    else
      refusal = enter_environment(there, name, environment);
    if (!refusal) choice.names.push_back(name);
    if (refusal && choice.refusal.empty()) choice.refusal = std::move(*refusal);
  }
  return choice;
}

Result<std::optional<std::string>> choose_environment(const SchedulerConfig& config,
                                                      JobRequest& job, Arrives arrives) {
  if (job.environment.empty()) return std::nullopt;
  Choice choice = environments_for(config, job, arrives);
  if (choice.names.empty() && !choice.refusal.empty()) return std::move(choice.refusal);
  if (choice.names.empty())
    return fail(Errc::not_found,
                fmt::format("there is no parallel environment \"{}\"", job.environment),
                "environment");
  if (choice.names.size() == 1) {
    const std::string& only = choice.names.front();
    return enter_environment(job, only, config.environments.at(only));
  }
  job.environments = std::move(choice.names);
  return std::nullopt;
}

// Array jobs share one jobspec, so that the last one made is made for many.
void keep_to_properties(Scheduler::State& state, JobRequest& job, const Queue& queue) {
  const std::vector<std::string>& properties = queue.config.properties;
  if (properties.empty()) return;
  job.required = properties;
  if (!job.spec) return;
  Queues::Narrowed& last = state.queues().narrowed;
  if (last.from == job.spec && last.queue == queue.name) {
    job.spec = last.made;
    return;
  }
  resource::Constraint wanted{"properties", properties, {}};
  auto spec = std::make_shared<resource::Jobspec>(*job.spec);
  if (!spec->constraints.op.empty())
    wanted = {"and", {}, {std::move(wanted), std::move(spec->constraints)}};
  spec->constraints = std::move(wanted);
  last = {std::exchange(job.spec, std::move(spec)), queue.name, {}};
  last.made = job.spec;
}

bool dedicate_nodes(std::vector<resource::Request>& requests) {
  bool any = false;
  for (resource::Request& request : requests) {
    const bool node = request.type == "node";
    if (node) request.exclusive = true;
    any = dedicate_nodes(request.with) || node || any;
  }
  return any;
}

// Maui's DEDICATED: nodes are the job's alone. Each processor of a flat machine is a node.
std::optional<std::string> dedicate(const Scheduler::State& state, JobRequest& job) {
  const auto qos = state.config().qos.find(job.qos);
  if (!job.spec || qos == state.config().qos.end() || !qos->second.dedicated) return std::nullopt;
  auto spec = std::make_shared<resource::Jobspec>(*job.spec);
  if (!dedicate_nodes(spec->resources))
    return fmt::format("jobs of QOS {} get whole nodes: it is to say how many (-N)", job.qos);
  job.spec = std::move(spec);
  return std::nullopt;
}

}  // namespace

std::map<std::string, resource::Amount> queue_pools(const SchedulerConfig& config) {
  std::map<std::string, resource::Amount> pools;
  for (const auto& [name, queue] : config.queues) {
    for (const auto& [pool, amount] : queue.pools) pools[of_queue(pool, name)] = amount;
    if (queue.slots) pools[of_queue("slots", name)] = *queue.slots;
  }
  return pools;
}

std::map<std::string, resource::Amount> global_pools(const SchedulerConfig& config) {
  std::map<std::string, resource::Amount> pools = config.pools;
  for (const auto& [name, environment] : config.environments)
    if (environment.slots) pools[pool_of_environment(name)] = *environment.slots;
  return pools;
}

Result<std::optional<std::string>> admit(Scheduler::State& state, JobRequest& job,
                                         const Queue& queue, Arrives arrives) {
  if (arrives == Arrives::anew && !queue.config.access.admits(job.user, job.group))
    return fmt::format("queue {} is not for user \"{}\"", queue.name, job.user);
  if (Status settled = settle_slots(job); !settled) return tl::unexpected(settled.error());
  std::optional<std::string> unknown = unknown_pool(state, job, queue);
  add_queue_pools(state, job, queue);
  keep_to_properties(state, job, queue);
  if (auto refused = dedicate(state, job)) return refused;
  auto refusal = choose_environment(state.config(), job, arrives);
  if (refusal && !*refusal) return unknown;
  return refusal;
}

}  // namespace holon::qmanager
