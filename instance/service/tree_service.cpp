#include "instance/service/tree_service.hpp"

#include <utility>

#include "instance/tree/gather.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::unpack;

}  // namespace

void TreeService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("tree", [this](const transport::Request& r) { tree(r); });
  dispatcher.add("status", [this](const transport::Request& r) {
    answer(r, uses_.node.self(reactor_.now()));
  });
}

void TreeService::answer(const transport::Request& request, msg::TreeNode node) const {
  uses_.after_commit.add([request, node = std::move(node)] { request.reply(pack(node)); });
}

void TreeService::tree(const transport::Request& request) {
  const auto ask = unpack<msg::TreeRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const Duration patience = ask->timeout > 0 ? ask->timeout : uses_.config.tree_timeout;
  const auto viewer = viewer_(request);
  const auto is_seen = [this, viewer](JobId child) {
    return !viewer || uses_.jobs.user_of(child) == *viewer;
  };
  auto asked = uses_.children.connected();
  std::erase_if(asked, [&](const auto& child) { return !is_seen(child.first); });
  gather(server_, asked, {"tree", pack(msg::TreeRequest{patience * 4 / 5}), "", patience},
         [this, request, is_seen](const Answers& answers) {
           msg::TreeNode node = uses_.node.self(reactor_.now());
           for (const JobId id : uses_.children.all()) {
             const ActiveJob* job = uses_.jobs.find(id);
             if (job == nullptr || !job->life.holds_resources || !is_seen(id)) continue;
             const auto answered = answers.find(id);
             auto child = answered == answers.end() ? tl::unexpected<Error>(Error{})
                                                    : unpack<msg::TreeNode>(answered->second);
             node.children.push_back(child ? std::move(*child) : uses_.node.silent(*job));
           }
           for (auto& absent : uses_.node.planted_and_not_here())
             node.children.push_back(std::move(absent));
           answer(request, std::move(node));
         });
}

}  // namespace holon::instance
