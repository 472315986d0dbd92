// The part of the JobManager about what instances lend of their own to the one above: there the
// child's job goes without it for a time; in the child a job holds it that runs nothing.
#include <algorithm>
#include <set>
#include <utility>

#include "instance/manager/manager.hpp"
#include "instance/request/submission.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::instance {

using resource::Allocation;
using resource::VertexId;

// The scheduler is told of a job that runs, and the journal of one that was submitted and started.
Result<JobId> JobManager::lend(const msg::SubmitRequest& request, resource::Allocation what,
                               Time now) {
  auto made = make_submission(request.jobspec, false);
  if (!made) return tl::unexpected(made.error());
  made->first = next_id_;
  made->count = 1;
  const auto submission = std::make_shared<const Submission>(std::move(*made));
  const JobId id = submission->first;
  what.job = id;
  ActiveJob job{id, submission, {}, {}};
  job.life.urgency = request.urgency;
  job.life.user = request.user;
  job.life.t_submit = now;
  if (auto held = scheduler_.start_on(request_of(job), what, now); !held)
    return tl::unexpected(held.error());
  accept(submission, request, now);
  give(*find_mutable(id), {id, std::move(what), qmanager::Selection::immediate}, now);
  return id;
}

void JobManager::lends_less(JobId id, Allocation rest, Time now) {
  ActiveJob* const job = find_mutable(id);
  if (job == nullptr || !job->allocation) return;
  rest.job = id;
  rest.when = job->allocation->when;
  static_cast<void>(scheduler_.set_lent(id, {rest, {}}, now));  // it holds all of that
  journal_.add_allocation(rest);
  job->allocation = std::move(rest);
  outside_.changed(*job);
  dirty_ = true;
}

// What the child's job holds without what it has lent, and what it has back. A vertex that it has
// for itself is shared as long as something below is lent.
qmanager::LentParts JobManager::parts_of(const Allocation& all,
                                         const std::vector<Lent>& lent) const {
  const auto& graph = store_.graph();
  qmanager::LentParts parts{all, {}};
  std::set<std::int64_t> gone, shared;
  for (const Lent& loan : lent) {
    Allocation part;
    part.when = {loan.until, kTimeMax};
    for (const VertexId v : loan.vertices) {
      for (const VertexId below : graph.subtree(v)) gone.insert(graph[below].uniq_id);
      for (VertexId up = graph.parent(v); up != resource::kNoVertex; up = graph.parent(up))
        shared.insert(graph[up].uniq_id);
      part.shares.push_back({graph[v].uniq_id, graph[v].size, true});
    }
    parts.parts.push_back(std::move(part));
  }
  std::erase_if(parts.rest.shares,
                [&](const resource::Share& share) { return gone.contains(share.uniq_id); });
  for (resource::Share& share : parts.rest.shares)
    if (shared.contains(share.uniq_id)) share = {share.uniq_id, 0, false};
  return parts;
}

Status JobManager::set_lent(JobId child, const std::vector<Lent>& lent, Time now) {
  const ActiveJob* const job = find(child);
  if (job == nullptr || !job->allocation) return fail(Errc::not_found, "it holds nothing");
  if (auto set = scheduler_.set_lent(child, parts_of(*job->allocation, lent), now); !set)
    return set;
  outside_.changed(*job);
  dirty_ = true;
  return {};
}

// What the instance has lent of its own.
void JobManager::add_lent(const ActiveJob& job, msg::JobRecord& r) const {
  if (!job.life.holds_resources) return;
  for (const Lent& lent : lent_by(job.id))
    for (const auto v : lent.vertices)
      ++(store_.graph().type_name(v) == "core" ? r.lent_cores : r.lent_gpus);
}

// A job that holds what is lent may hold less than it began with.
void JobManager::count_what_is_lent(const ActiveJob& job, msg::JobRecord& r) const {
  r.command = "lent to the instance above";
  if (!job.allocation) return;
  const auto held = summarize(nodes_of(store_.graph(), *job.allocation)).held;
  r.ncores = held.cores;
  r.ngpus = held.gpus;
}

}  // namespace holon::instance
