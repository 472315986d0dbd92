// tree_follower.hpp - the events of a tree: one stream for each instance, over one connection; for
// client/'s own .cpp files.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {

class TreeFollower {
 public:
  // `patience`: for how long the connection may be gone. `on_end` may be empty. REQUIRES: `client`
  // outlives the follower, and is not moved meanwhile.
  TreeFollower(transport::BlockingClient& client, Duration patience, msg::EventsRequest request,
               TreeCursors cursors, Client::OnTreePart on_part,
               std::function<void(const Status&)> on_end = {});
  TreeFollower(const TreeFollower&) = delete;
  TreeFollower& operator=(const TreeFollower&) = delete;
  ~TreeFollower();

  // Begins at the instance at this path; the parts come while the client's reactor turns.
  void begin(const std::string& top);
  // How it has ended; nullopt: it goes on.
  const std::optional<Status>& ended() const { return ended_; }

 private:
  struct Stream {
    transport::CallId call;
    bool silent = false;  // it was told that the instance does not answer
    transport::Subscription again;
  };

  void open(const std::string& path);
  void heard(const std::string& path, const std::string& bytes);
  void add(const std::string& path);
  void tell(const std::string& path, const msg::EventsPart& part);
  void over(const std::string& path, const Status& status);
  void open_again(const std::string& path, const Status& lost);
  void tell_node(const std::string& path, const std::string& health, msg::EventsPart part = {});
  void gone(const std::string& path);
  void collect(const std::string& path, const msg::JobsRequest& request, msg::EventsPart part);
  void forget(const std::string& path, msg::EventsPart part);
  void end(Status status);

  transport::BlockingClient& client_;
  const Duration patience_;  // without a connection
  const msg::EventsRequest request_;
  TreeCursors cursors_;
  const Client::OnTreePart on_part_;
  const std::function<void(const Status&)> on_end_;
  std::string top_;
  std::map<std::string, Stream> streams_;
  std::optional<Status> ended_;
  std::optional<Time> lost_at_;  // there is no connection since
};

}  // namespace holon::client
