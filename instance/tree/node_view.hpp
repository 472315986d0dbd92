// node_view.hpp - makes nodes of the tree (msg::TreeNode) from this instance, and from a child that
// does not answer.
#pragma once
#include <vector>

#include "instance/basics/clock.hpp"
#include "instance/manager/manager.hpp"
#include "instance/membership/leaving_nodes.hpp"
#include "instance/policy/policies.hpp"
#include "instance/shape/planted.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "msg/instance.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class NodeView {
 public:
  struct Uses {
    const Identity& identity;
    const InstanceClock& clock;
    const resource::ResourceStore& store;
    const Policies& policies;
    const JobManager& jobs;
    const Children& children;
    const LeavingNodes& leaving_nodes;
    const Planted& planted;
    const bool& ending;     // the instance is ending
    const bool& read_only;  // the instance's journal cannot be written
  };
  explicit NodeView(Uses uses) : uses_(uses) {}

  // This instance without its children.
  msg::TreeNode self(Time now) const;
  // A child that holds resources and does not answer.
  msg::TreeNode silent(const ActiveJob& child) const;
  // Children that were planted and hold no resources: they wait, or have ended.
  std::vector<msg::TreeNode> planted_and_not_here() const;

 private:
  const Uses uses_;
};

}  // namespace holon::instance
