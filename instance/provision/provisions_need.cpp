// How many batch jobs the plan lacks: what it would do with the nodes of additional ones.
#include <algorithm>
#include <map>
#include <string>

#include "instance/provision/provisions.hpp"
#include "instance/resources/more_nodes.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kJobsLookedAt = 4'096;   // of waiting jobs
constexpr std::uint32_t kMostNodesAsked = 256;  // in one question to the plan
constexpr Duration kLateFor = 60'000;           // a node, after the first one of its batch job

// The total amount of each type.
std::map<std::string, std::int64_t> amounts_of(const resource::GraphSpec& node) {
  std::map<std::string, std::int64_t> amounts;
  for (const auto& row : node.rows) amounts[node.words.types.text(row.type)] += row.size;
  return amounts;
}

}  // namespace

std::uint32_t Provisions::on_their_way(const msg::Provision& provision) const {
  std::uint32_t jobs = 0;
  for (const auto& job : state_.batch_jobs)
    jobs += job.provision == provision.number && !job.came && !is_leaving(job);
  return jobs;
}

std::uint32_t Provisions::may_be_asked_for(const msg::Provision& provision) const {
  std::uint32_t queued = 0, nodes = 0;
  for (const auto& job : state_.batch_jobs) {
    if (job.provision != provision.number) continue;
    queued += is_queued(job);
    nodes += job.nodes;
  }
  const auto& how = provision.how;
  if (queued >= how.most_queued || nodes >= how.most_nodes) return 0;
  return std::min(how.most_queued - queued, (how.most_nodes - nodes) / how.nodes_each);
}

// Nodes still to come of a batch job that has just begun: they come one after the other.
std::uint32_t Provisions::late_nodes(const msg::BatchJob& job, Time now) const {
  const auto arrival = arrivals_.find(job.number);
  if (arrival == arrivals_.end() || now - arrival->second.since >= kLateFor) return 0;
  return job.nodes - std::min(job.nodes, arrival->second.nodes);
}

// Nodes that come without any more batch jobs of this provision: its own late ones, and those of
// other provisions with the same resources that stay at least as long.
std::uint32_t Provisions::counted_on(const msg::Provision& provision,
                                     const resource::GraphSpec& node, Time now) const {
  const auto amounts = amounts_of(node);
  const auto is_as_good = [&](const msg::Provision& other) {
    if (other.how.walltime < provision.how.walltime) return false;
    const auto its = node_like(other);
    return its && amounts_of(*its) == amounts;
  };
  std::uint32_t counted = 0;
  for (const auto& other : state_.provisions) {
    const bool is_own = other.number == provision.number;
    std::uint32_t nodes = 0;
    for (const auto& job : state_.batch_jobs) {
      if (job.provision != other.number) continue;
      nodes += late_nodes(job, now);
      if (!is_own && !job.came && !is_leaving(job)) nodes += job.nodes;
    }
    if (nodes > 0 && (is_own || is_as_good(other))) counted += nodes;
  }
  return counted;
}

Result<resource::GraphSpec> Provisions::node_like(const msg::Provision& provision) const {
  if (!provision.topology.empty()) return read_node({0, "node", provision.topology});
  if (!provision.how.shape.empty()) return node_of_shape(provision.how.shape);
  return own_node(uses_.store.graph());
}

// How much of so many batch jobs, and of nodes that come anyway, waiting jobs would use.
Result<Provisions::Need> Provisions::need_with(const msg::Provision& provision,
                                               const resource::GraphSpec& node,
                                               std::uint32_t counted_on, std::uint32_t batch_jobs,
                                               Time now) const {
  const auto& how = provision.how;
  const Time end = saturating_add(now, how.walltime) - settings_.margin;
  const auto more = many_like(node, counted_on + batch_jobs * how.nodes_each);
  const auto starts = uses_.scheduler.starts_on(more, end, now, {.jobs = kJobsLookedAt});
  if (!starts) return tl::unexpected(starts.error());
  Need need;
  std::uint32_t used = 0;
  for (const auto& [host, on_it] : *starts) {
    bool counts = false;
    for (const JobId id : on_it) {
      const ActiveJob* const job = uses_.jobs.find(id);
      if (job == nullptr || now - job->life.t_submit < how.patience) continue;
      counts = true;
      need.jobs.push_back(id);
    }
    used += counts;
  }
  std::sort(need.jobs.begin(), need.jobs.end());
  need.jobs.erase(std::unique(need.jobs.begin(), need.jobs.end()), need.jobs.end());
  const std::uint32_t missing = used - std::min(used, counted_on);
  need.batch_jobs = (missing + how.nodes_each - 1) / how.nodes_each;
  return need;
}

// The fewest batch jobs with which as many jobs start as with all that may be submitted: with room
// on several nodes a job may be spread over more of them than it needs.
Result<Provisions::Need> Provisions::need_of(const msg::Provision& provision, Time now) const {
  const std::uint32_t most =
      std::min(on_their_way(provision) + may_be_asked_for(provision),
               std::max<std::uint32_t>(1, kMostNodesAsked / provision.how.nodes_each));
  if (most == 0 || uses_.scheduler.pending() == 0) return Need();
  const auto node = node_like(provision);
  if (!node) return tl::unexpected(node.error());
  const std::uint32_t anyway = counted_on(provision, *node, now);
  auto need = need_with(provision, *node, anyway, most, now);
  if (!need) return need;
  for (std::uint32_t fewest = 0; fewest < need->batch_jobs;) {
    const std::uint32_t middle = fewest + (need->batch_jobs - fewest) / 2;
    const auto fewer = anyway + middle == 0 ? Result<Need>(Need())
                                            : need_with(provision, *node, anyway, middle, now);
    if (!fewer) return fewer;
    if (fewer->jobs.size() >= need->jobs.size()) {
      need->batch_jobs = middle;
    } else {
      fewest = middle + 1;
    }
  }
  return need;
}

}  // namespace holon::instance
