#include "instance/tree/node_view.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

struct NodeTotals {
  resource::Amount nodes = 0, cores = 0, gpus = 0;
};

// Totals without nodes that have left the instance, though its graph still has them.
NodeTotals totals_without(const resource::ResourceStore& store,
                          const std::vector<resource::VertexId>& gone) {
  const auto& graph = store.graph();
  NodeTotals totals{store.total("node"), store.total("core"), store.total("gpu")};
  for (const auto node : gone)
    for (const auto v : graph.subtree(node)) {
      const std::string& type = graph.type_name(v);
      totals.nodes -= type == "node" ? graph[v].size : 0;
      totals.cores -= type == "core" ? graph[v].size : 0;
      totals.gpus -= type == "gpu" ? graph[v].size : 0;
    }
  return totals;
}

// What the instance lends of its own is held by jobs here.
void add_lent(const JobManager& jobs, const resource::ResourceStore& store, msg::TreeNode& node) {
  for (const JobId id : jobs.lending()) {
    const ActiveJob* const job = jobs.find(id);
    if (job == nullptr || !job->life.holds_resources || !job->allocation) continue;
    const auto held = summarize(nodes_of(store.graph(), *job->allocation)).held;
    node.lent_cores += held.cores;
    node.lent_gpus += held.gpus;
  }
}

}  // namespace

msg::TreeNode NodeView::self(Time now) const {
  const auto counts = uses_.jobs.counts();
  const auto& store = uses_.store;
  const NodeTotals totals = totals_without(store, uses_.leaving_nodes.gone());
  msg::TreeNode n;
  n.path = uses_.identity.path;
  n.name = uses_.identity.name;
  n.policy = uses_.policies.of_default_queue();
  n.policy_trouble = uses_.policies.troubles();
  n.uri = uses_.identity.uri;
  n.state_dir = uses_.identity.state_dir;
  n.health = uses_.ending ? "ending" : uses_.read_only ? "read-only" : "up";
  n.pid = getpid();
  n.nodes = totals.nodes;
  n.cores = totals.cores;
  n.cores_free = store.available("core", now);
  n.gpus = totals.gpus;
  n.gpus_free = store.available("gpu", now);
  add_lent(uses_.jobs, store, n);
  n.shape = uses_.planted.shape();
  for (const JobId child : uses_.planted.children()) n.planted.push_back(child.value());
  n.pending = counts.pending;
  n.running = counts.running;
  n.inactive = counts.inactive;
  n.failed = counts.failed;
  n.cancelled = counts.cancelled;
  n.t_started = uses_.clock.wall(uses_.identity.started);
  n.expiration =
      uses_.identity.lease_end == kTimeMax ? 0 : uses_.clock.wall(uses_.identity.lease_end);
  return n;
}

msg::TreeNode NodeView::silent(const ActiveJob& child) const {
  const Lifecycle& life = child.life;
  msg::TreeNode n;
  n.path = uses_.jobs.path_of(child.id);
  n.name = child.submission->name;
  n.uri = life.child_uri;
  const bool leaves = life.state == JobState::cleanup || uses_.children.ending(child.id);
  n.health = leaves ? "ending" : life.child_uri.empty() ? "starting" : "unreachable";
  n.nodes = life.place.nodes;
  n.cores = life.place.cores;
  n.gpus = life.place.gpus;
  n.t_started = uses_.clock.wall(life.t_start);
  n.expiration = uses_.clock.wall(life.expiration);
  return n;
}

std::vector<msg::TreeNode> NodeView::planted_and_not_here() const {
  std::vector<msg::TreeNode> nodes;
  for (const JobId id : uses_.planted.children()) {
    const ActiveJob* const job = uses_.jobs.find(id);
    if (job != nullptr && job->life.holds_resources) continue;
    const auto record = uses_.jobs.record(id);
    msg::TreeNode n;
    n.path = uses_.jobs.path_of(id);
    n.health = job != nullptr ? "waiting" : "ended";
    if (record) n.name = record->name;
    if (record) n.why = record->reason;
    nodes.push_back(std::move(n));
  }
  return nodes;
}

}  // namespace holon::instance
