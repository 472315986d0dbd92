// The events of a tree, for callers that wait for them.
#include <utility>

#include "client/client.hpp"
#include "client/parts.hpp"
#include "client/tree_follower.hpp"

namespace holon::client {

Status Client::follow_tree(const msg::EventsRequest& request, TreeCursors cursors,
                           const OnTreePart& on_part) {
  const auto here = status();
  if (!here) return tl::unexpected(here.error());
  TreeFollower follower(parts_->client, parts_->patience.restart, request, std::move(cursors),
                        on_part);
  follower.begin(here->path);
  parts_->client.reactor().run_until([&] { return follower.ended().has_value(); }, -1);
  return *follower.ended();
}

}  // namespace holon::client
