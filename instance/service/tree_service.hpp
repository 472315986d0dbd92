// tree_service.hpp - "tree" and "status": this instance, and those below it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "config/config.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/node_view.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class TreeService {
 public:
  struct Uses {
    const config::Config& config;
    const JobManager& jobs;
    Children& children;
    const NodeView& node;
    AfterCommit& after_commit;
  };
  // The only user whose children the sender may see; nullopt: all users.
  using Viewer = std::function<std::optional<std::string>(const transport::Request&)>;
  TreeService(transport::Reactor& reactor, transport::Server& server, Uses uses, Viewer viewer)
      : reactor_(reactor), server_(server), uses_(uses), viewer_(std::move(viewer)) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void tree(const transport::Request& request);
  void answer(const transport::Request& request, msg::TreeNode node) const;

  transport::Reactor& reactor_;
  transport::Server& server_;
  const Uses uses_;
  const Viewer viewer_;
};

}  // namespace holon::instance
