// network.hpp - where servers and clients get their connections from, when it is not the machine's
// own sockets: the seam under which the deterministic world (world/) puts its network.
//
// Above it everything is the same: sessions, heartbeats, who is lost and when.
#pragma once
#include <memory>
#include <string>

#include "transport/zmtp/line.hpp"
#include "transport/zmtp/listener.hpp"

namespace holon::transport {

class Network {
 public:
  virtual ~Network() = default;
  // Opens a listener. Errors: exists (somebody listens there).
  virtual Result<std::shared_ptr<Listener>> listen(Reactor& reactor, const std::string& uri,
                                                   Listener::Events events) = 0;
  // A second listener of a server that listens already, for clients that show a key
  // (open_key_listener).
  virtual Result<RouterListenerAt> listen_for_keys(Reactor& reactor, Admission admission,
                                                   Listener::Events events) = 0;
  // Nothing needs to listen at `uri` yet. `public_key`: the key that this side shows; "": none.
  virtual Result<std::shared_ptr<Line>> connect(Reactor& reactor, const std::string& uri,
                                                const std::string& public_key,
                                                Line::Events events) = 0;
};

}  // namespace holon::transport
