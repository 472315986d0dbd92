// line.hpp - a client's end of the connection to its server, made again whenever it breaks. Private
// to transport/ and to what stands in for the network (network.hpp).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "transport/rpc.hpp"

namespace holon::transport {

class Line {
 public:
  struct Events {
    std::function<void()> on_made;    // a connection is there: nothing has been sent over it yet
    std::function<void()> on_broken;  // the connection is gone; all that came before was delivered
    // `message` is gone when the callback returns.
    std::function<void(std::string_view message)> on_message;
    std::function<void()> on_foreign;  // a message of several parts came, and was read over
  };

  virtual ~Line() = default;
  // Sends a message; false: there is no connection, or it cannot be written to.
  virtual bool send(std::string bytes) = 0;
  // Ends all callbacks. May be called from inside one.
  virtual void close() = 0;
};

// Connects to the socket at `path`. Errors: invalid_argument (no path that a socket can have).
Result<std::shared_ptr<Line>> open_ipc_line(Reactor& reactor, const std::string& path,
                                            const Options& options, Line::Events events);
// Connects by ZeroMQ, with keys. Errors: invalid_argument (the address), system.
Result<std::shared_ptr<Line>> open_zmq_line(Reactor& reactor, const std::string& uri,
                                            const Options& options, Line::Events events);

}  // namespace holon::transport
