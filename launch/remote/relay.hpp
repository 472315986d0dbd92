// relay.hpp - the instance's socket on a node that is not its broker's: what tasks and people of
// this node ask there the agent passes on, over the connection that it has.
//
// A child instance has a connection of its own to the broker, with the agent's key: its parent
// calls it over that.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "transport/rpc.hpp"

namespace holon::launch {

class Relay {
 public:
  // `broker`: the agent's connection. `uri`, `options`: how it was made. `dir`: where its socket
  // is;
  // "": in a new directory, which it removes. All must outlive it. Errors: system.
  static Result<std::unique_ptr<Relay>> open(transport::Reactor& reactor, transport::Client& broker,
                                             std::string uri, transport::Options options,
                                             const std::string& dir = "");
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // HOLON_URI of this node's tasks.
  const std::string& uri() const { return server_->uri(); }

 private:
  Relay(transport::Reactor& reactor, transport::Client& broker, std::string uri,
        transport::Options options);
  Status listen(const std::string& dir);
  void pass_on(const transport::Request& request);
  Result<transport::Client*> own_connection(transport::PeerId child);

  transport::Reactor& reactor_;
  transport::Client& broker_;
  std::string uri_;
  transport::Options options_;
  std::string dir_;
  std::unique_ptr<transport::Server> server_;
  std::map<transport::PeerId, std::unique_ptr<transport::Client>> children_;
};

}  // namespace holon::launch
