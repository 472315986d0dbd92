// place_by_policy.cpp - the nodes of a job that starts, by the policy that a user wrote.
//
// The match policy has found that the job fits, and where. The policy's scores then choose again
// among what is free for as long as the job lasts: no reservation is touched, and where the nodes
// that it likes do not do, the job stays where it was.
#include <algorithm>
#include <set>

#include "qmanager/engine/place_view.hpp"
#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {
namespace {

// Each pair costs a look at all that runs, which is not counted among a policy's own steps.
constexpr std::size_t kMostPairs = 64;

}  // namespace

const AttributePlaces::Counts& AttributePlaces::with(const std::string& key,
                                                     const std::string& value) {
  if (known_.size() >= kMostPairs && !known_.contains({key, value})) return none_;
  const auto [at, is_new] = known_.try_emplace({key, value});
  Counts& counts = at->second;
  if (!is_new) return counts;
  for (const auto& [end, id] : *s_.plan().running) {
    const auto& attributes = s_.jobs().find(id)->request.attributes;
    if (!attributes) continue;
    const auto found = attributes->find(key);
    if (found == attributes->end() || found->second != value) continue;
    std::set<resource::VertexId> above;
    for (const NodeId& one : s_.plan().machine->nodes_of(id)) {
      ++counts.on[one.node];
      if (above.insert(one.above).second) ++counts.below[one.above];
    }
  }
  return counts;
}

namespace {

std::int64_t count_of(const std::map<resource::VertexId, std::int64_t>& counts,
                      resource::VertexId v) {
  const auto found = counts.find(v);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

std::int64_t NodeView::running(const std::string& key, const std::string& value) const {
  return count_of(jobs_.with(key, value).on, place_.id.node);
}

std::int64_t NodeView::near(const std::string& key, const std::string& value) const {
  return count_of(jobs_.with(key, value).below, place_.id.above);
}

// The units that a reserved job leaves when it is placed elsewhere may suit another job.
resource::Allocation placed_by_policy(
    Parts<const SchedulerConfig, const Jobs, Plan, Progress, const Queues, Accounts> s,
    const Job& job, resource::Allocation given, Time now) {
  const Queue& queue = s.queues().of(job);
  if (queue.hooks == nullptr || !queue.hooks->has(Hook::score)) return given;
  AttributePlaces jobs(s);
  const PolicyView view(s, queue, now);
  resource::Allocation placed =
      s.plan().machine->place_by(job.request, now, [&](const Place& place) {
        return queue.hooks->score(view_of(s, job, now), NodeView(place, jobs), view);
      });
  if (placed.shares != given.shares && job.planned) freed(s);
  return placed;
}

}  // namespace holon::qmanager
