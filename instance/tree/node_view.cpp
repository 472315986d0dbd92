#include "instance/tree/node_view.hpp"

#include <unistd.h>

namespace holon::instance {

msg::TreeNode NodeView::self(Time now) const {
  const auto counts = uses_.jobs.counts();
  const auto& store = uses_.store;
  msg::TreeNode n;
  n.path = uses_.identity.path;
  n.name = uses_.identity.name;
  n.policy = uses_.policies.of_default_queue();
  n.policy_trouble = uses_.policies.troubles();
  n.uri = uses_.identity.uri;
  n.health = uses_.ending ? "ending" : uses_.only_lists ? "read-only" : "up";
  n.pid = getpid();
  n.nodes = store.total("node");
  n.cores = store.total("core");
  n.cores_free = store.available("core", now);
  n.gpus = store.total("gpu");
  n.gpus_free = store.available("gpu", now);
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

}  // namespace holon::instance
