// starts_on.cpp - what-if: which jobs would start, were there more nodes or fewer jobs, and when
// one more job would. A pass on a fork that has them tells, so that the answer follows the policy,
// the limits and the plan as every start does.
#include <set>

#include "qmanager/engine/state.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/graph/spec.hpp"

namespace holon::qmanager {
namespace {

std::set<std::string> names_of_nodes(const resource::GraphSpec& part) {
  std::set<std::string> names;
  const auto node = part.words.types.find("node");
  for (const resource::GraphSpec::Row& row : part.rows) {
    if (!node || row.type != *node) continue;
    const bool is_named = row.name.value() != resource::GraphSpec::kNone;
    names.insert(is_named ? part.words.names.text(row.name)
                          : part.words.names.text(row.basename) + std::to_string(row.id));
  }
  return names;
}

}  // namespace

Result<Scheduler::StartsByHost> Scheduler::starts_on(const resource::GraphSpec& part, Time end,
                                                     Time now, Budget budget) const {
  Scheduler fork(state_->fork());
  if (Status grown = fork.state_->plan().machine->grow(part, end); !grown)
    return tl::unexpected(grown.error());
  fork.resources_changed();
  const std::set<std::string> added = names_of_nodes(part);
  StartsByHost starts;
  for (const Decision& decision : fork.step(now, budget).decisions) {
    const auto* start = std::get_if<Start>(&decision);
    if (start == nullptr) continue;
    for (std::string& host : fork.state_->plan().machine->hosts_of(start->job))
      if (added.contains(host)) starts[std::move(host)].push_back(start->job);
  }
  return starts;
}

Result<Scheduler::HostsByJob> Scheduler::starts_without(const std::vector<JobId>& over, Time now,
                                                        Budget budget) const {
  Scheduler fork(state_->fork());
  for (const JobId job : over)
    if (!fork.finish(job, now))
      if (auto done = fork.cancel(job, now); !done) return tl::unexpected(done.error());
  HostsByJob starts;
  for (const Decision& decision : fork.step(now, budget).decisions)
    if (const auto* start = std::get_if<Start>(&decision))
      starts[start->job] = fork.state_->plan().machine->hosts_of(start->job);
  return starts;
}

Result<Scheduler::Chance> Scheduler::chance_of(JobRequest job, Time now, Budget budget) const {
  const JobId id = job.id;
  Scheduler fork(state_->fork());
  const auto taken = fork.submit(std::move(job), now);
  if (!taken) return tl::unexpected(taken.error());
  if (*taken) return fail(Errc::unsatisfiable, (*taken)->reason);
  for (const Decision& decision : fork.step(now, budget).decisions) {
    if (const auto* start = std::get_if<Start>(&decision); start != nullptr && start->job == id)
      return Chance{now, std::nullopt};
    if (const auto* no = std::get_if<Reject>(&decision); no != nullptr && no->job == id)
      return fail(Errc::unsatisfiable, no->reason);
  }
  const auto why = fork.explain(id, now);
  if (!why) return tl::unexpected(why.error());
  if (why->planned_start) return Chance{why->planned_start, std::nullopt};
  // There may be room already, for those ahead of it.
  return Chance{std::nullopt, why->room_at || why->has_no_room ? why->room_at : now};
}

}  // namespace holon::qmanager
