// relay.hpp - the instance's socket on a node that is not its broker's: the agent passes on
// requests of tasks and people of this node, over its own connection.
//
// A child instance has a connection of its own to the broker, with the agent's key: its parent
// calls it over that. So has each client in an instance that serves several users: the agent says
// over it who the client is (vouch.hpp).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/remote/refusal_notes.hpp"
#include "launch/remote/vouch.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {

class Relay {
 public:
  // `broker`: the agent's connection. `uri`, `options`: how it was made. `dir`: the socket's
  // directory; "": a new one. The relay's end removes it, unless output of an earlier agent is
  // noted there (output_note.hpp). `users`: how the agent proves itself when it speaks for users;
  // nullopt: all clients are the owner's. `broker` and `reactor` must outlive it. Errors: system.
  static Result<std::unique_ptr<Relay>> open(transport::Reactor& reactor, transport::Client& broker,
                                             std::string uri, transport::Options options,
                                             const std::string& dir = "",
                                             std::optional<msg::VouchRequest> users = {});
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // HOLON_URI of this node's tasks.
  const std::string& uri() const { return server_->uri(); }
  // Refusals at this socket, which the agent reports to the broker.
  RefusalNotes& refusals() { return refusals_; }

 private:
  Relay(transport::Reactor& reactor, transport::Client& broker, std::string uri,
        transport::Options options, std::optional<msg::VouchRequest> users);
  Status listen(const std::string& dir);
  void pass_on(const transport::Request& request);
  void refuse(const transport::Request& request, const std::string& why);
  // The connection of one peer.
  struct Own {
    std::unique_ptr<transport::Client> client;
    bool is_open = true;                    // the broker knows whose it is
    std::vector<transport::Request> early;  // requests from before that
  };
  bool is_users(const transport::Principal& who) const;
  Result<Own*> own_connection(const transport::Request& request);
  void vouch(transport::PeerId peer, Own& own, const transport::Principal& who);

  transport::Reactor& reactor_;
  transport::Client& broker_;
  std::string uri_;
  transport::Options options_;
  std::string dir_;
  std::unique_ptr<transport::Server> server_;
  std::optional<msg::VouchRequest> users_;
  std::map<transport::PeerId, Own> own_;
  RefusalNotes refusals_;
};

}  // namespace holon::launch
