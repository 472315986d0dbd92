// The events of a tree: one stream for each instance, over one connection.
#include <map>
#include <optional>
#include <utility>

#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {
namespace {

std::string below(const std::string& path, std::uint64_t job) {
  return (path == "/" ? "" : path) + "/" + std::to_string(job);
}

class TreeFollower {
 public:
  TreeFollower(transport::BlockingClient& client, Duration patience,
               const msg::EventsRequest& request, TreeCursors cursors,
               const Client::OnTreePart& on_part)
      : client_(client),
        patience_(patience),
        request_(request),
        cursors_(std::move(cursors)),
        on_part_(on_part) {}
  TreeFollower(const TreeFollower&) = delete;
  TreeFollower& operator=(const TreeFollower&) = delete;
  ~TreeFollower() {
    for (const auto& [path, stream] : streams_) client_.client().cancel(stream.call);
  }

  Status run(const std::string& top) {
    top_ = top;
    open(top);
    for (const auto& [path, cursor] : TreeCursors(cursors_))
      if (path != top) open(path);
    client_.reactor().run_until([this] { return ended_.has_value(); }, -1);
    return *ended_;
  }

 private:
  struct Stream {
    transport::CallId call;
    bool silent = false;  // it was told that the instance does not answer
    transport::Subscription again;
  };

  void open(const std::string& path) {
    msg::EventsRequest request = request_;
    const auto cursor = cursors_.find(path);
    request.cursor = cursor == cursors_.end() ? "" : cursor->second;
    transport::StreamHandlers handlers;
    handlers.on_chunk = [this, path](const std::string& bytes) { heard(path, bytes); };
    handlers.on_end = [this, path](const Status& status) { over(path, status); };
    streams_[path].call = client_.client().open(
        {"events", transport::pack(request), path, kForEver}, std::move(handlers));
  }

  void heard(const std::string& path, const std::string& bytes) {
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

  void add(const std::string& path) {
    if (!streams_.contains(path)) open(path);
  }

  void tell(const std::string& path, const msg::EventsPart& part) {
    if (!ended_ && !on_part_(path, part, cursors_)) end({});
  }

  void over(const std::string& path, const Status& status) {
    if (ended_) return;
    const Errc code = status ? Errc::disconnected : status.error().code;
    if (code == Errc::not_found && path != top_) return gone(path);
    if (code != Errc::disconnected) return end(status);
    if (client_.client().connected() && !std::exchange(streams_[path].silent, true))
      tell_node(path, "unreachable");
    open_again(path, status);
  }

  void open_again(const std::string& path, const Status& lost) {
    streams_[path].again = client_.reactor().after(kLookAgain, [this, path, lost] {
      if (client_.client().connected()) {
        lost_at_.reset();
        return open(path);
      }
      const Time now = client_.reactor().now();
      if (!lost_at_) lost_at_ = now;
      if (has_ended(client_.client().uri()) || distance(*lost_at_, now) > patience_)
        return end(lost);
      open_again(path, lost);
    });
  }

  void tell_node(const std::string& path, const std::string& health, msg::EventsPart part = {}) {
    msg::TreeNode node;
    node.path = path;
    node.health = health;
    part.node = {node};
    const auto cursor = cursors_.find(path);
    part.cursor = cursor == cursors_.end() ? "" : cursor->second;
    tell(path, part);
  }

  // Handles an instance that has ended: its ancestors have the records of its jobs.
  void gone(const std::string& path) {
    msg::JobsRequest request;
    request.all = true;
    collect(path, request, {});
  }

  void collect(const std::string& path, const msg::JobsRequest& request, msg::EventsPart part) {
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

  void forget(const std::string& path, msg::EventsPart part) {
    cursors_.erase(path);
    part.anew = true;
    tell_node(path, "ended", std::move(part));
  }

  void end(Status status) { ended_ = std::move(status); }

  transport::BlockingClient& client_;
  const Duration patience_;  // without a connection
  const msg::EventsRequest request_;
  TreeCursors cursors_;
  const Client::OnTreePart& on_part_;
  std::string top_;
  std::map<std::string, Stream> streams_;
  std::optional<Status> ended_;
  std::optional<Time> lost_at_;  // there is no connection since
};

}  // namespace

Status Client::follow_tree(const msg::EventsRequest& request, TreeCursors cursors,
                           const OnTreePart& on_part) {
  const auto here = status();
  if (!here) return tl::unexpected(here.error());
  return TreeFollower(parts_->client, parts_->patience.restart, request, std::move(cursors),
                      on_part)
      .run(here->path);
}

}  // namespace holon::client
