#include "client/tree_follower.hpp"

#include <map>
#include <optional>
#include <utility>

namespace holon::client {
namespace {

std::string below(const std::string& path, std::uint64_t job) {
  return (path == "/" ? "" : path) + "/" + std::to_string(job);
}

}  // namespace

TreeFollower::TreeFollower(transport::BlockingClient& client, Duration patience,
                           msg::EventsRequest request, TreeCursors cursors,
                           Client::OnTreePart on_part, std::function<void(const Status&)> on_end)
    : client_(client),
      patience_(patience),
      request_(std::move(request)),
      cursors_(std::move(cursors)),
      on_part_(std::move(on_part)),
      on_end_(std::move(on_end)) {}

TreeFollower::~TreeFollower() {
  for (const auto& [path, stream] : streams_) client_.client().cancel(stream.call);
}

void TreeFollower::begin(const std::string& top) {
  top_ = top;
  open(top);
  for (const auto& [path, cursor] : TreeCursors(cursors_))
    if (path != top) open(path);
}

void TreeFollower::open(const std::string& path) {
  msg::EventsRequest request = request_;
  const auto cursor = cursors_.find(path);
  request.cursor = cursor == cursors_.end() ? "" : cursor->second;
  transport::StreamHandlers handlers;
  handlers.on_chunk = [this, path](const std::string& bytes) { heard(path, bytes); };
  handlers.on_end = [this, path](const Status& status) { over(path, status); };
  streams_[path].call = client_.client().open({"events", transport::pack(request), path, kForEver},
                                              std::move(handlers));
}

void TreeFollower::heard(const std::string& path, const std::string& bytes) {
  if (ended_) return;
  const auto part = transport::unpack<msg::EventsPart>(bytes);
  if (!part) return end(tl::unexpected(part.error()));
  streams_[path].silent = false;
  for (const auto& job : part->jobs)
    if (job.is_instance && !job.child_uri.empty() && job.state == "RUN") add(below(path, job.id));
  for (const auto& event : part->events)
    if (event.name == "instance") add(below(path, event.id));
  cursors_[path] = part->cursor;
  tell(path, *part);
}

void TreeFollower::add(const std::string& path) {
  if (!streams_.contains(path)) open(path);
}

void TreeFollower::tell(const std::string& path, const msg::EventsPart& part) {
  if (!ended_ && !on_part_(path, part, cursors_)) end({});
}

void TreeFollower::over(const std::string& path, const Status& status) {
  if (ended_) return;
  const Errc code = status ? Errc::disconnected : status.error().code;
  if (code == Errc::not_found && path != top_) return gone(path);
  if (code != Errc::disconnected) return end(status);
  if (client_.client().connected() && !std::exchange(streams_[path].silent, true))
    tell_node(path, "unreachable");
  open_again(path, status);
}

void TreeFollower::open_again(const std::string& path, const Status& lost) {
  streams_[path].again = client_.reactor().after(kLookAgain, [this, path, lost] {
    if (client_.client().connected()) {
      lost_at_.reset();
      return open(path);
    }
    const Time now = client_.reactor().now();
    if (!lost_at_) lost_at_ = now;
    if (has_ended(client_.client().uri()) || distance(*lost_at_, now) > patience_) return end(lost);
    open_again(path, lost);
  });
}

void TreeFollower::tell_node(const std::string& path, const std::string& health,
                             msg::EventsPart part) {
  msg::TreeNode node;
  node.path = path;
  node.health = health;
  part.node = {node};
  const auto cursor = cursors_.find(path);
  part.cursor = cursor == cursors_.end() ? "" : cursor->second;
  tell(path, part);
}

// Handles an instance that has ended: its ancestors have the records of its jobs.
void TreeFollower::gone(const std::string& path) {
  msg::JobsRequest request;
  request.all = true;
  collect(path, request, {});
}

void TreeFollower::collect(const std::string& path, const msg::JobsRequest& request,
                           msg::EventsPart part) {
  streams_[path].call = client_.client().call(
      {"jobs", transport::pack(request), path, kBulkTimeout},
      [this, path, rest = request,
       part = std::move(part)](const Result<std::string>& answer) mutable {
        if (ended_) return;
        auto page = answer ? transport::unpack<msg::JobsReply>(*answer)
                           : tl::unexpected<Error>(answer.error());
        if (!page && page.error().code == Errc::disconnected)
          return open_again(path, tl::unexpected(page.error()));
        // An ancestor has no records of an instance that is forgotten.
        if (page) part.jobs.insert(part.jobs.end(), page->jobs.begin(), page->jobs.end());
        if (!page || page->next.empty()) return forget(path, std::move(part));
        rest.after = page->next;
        collect(path, rest, std::move(part));
      });
}

void TreeFollower::forget(const std::string& path, msg::EventsPart part) {
  cursors_.erase(path);
  part.anew = true;
  tell_node(path, "ended", std::move(part));
}

void TreeFollower::end(Status status) {
  ended_ = std::move(status);
  if (on_end_) on_end_(*ended_);
}

}  // namespace holon::client
