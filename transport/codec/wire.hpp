// wire.hpp - a ZeroMQ socket with its monitor, watched by a reactor. Private to transport/.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <zmq.hpp>

#include "transport/rpc.hpp"

namespace holon::transport {

enum class SendOutcome { sent, no_peer, full };

class Wire {
 public:
  // Called with each ZMQ_EVENT_* of the monitor, and the value that comes with it.
  using OnEvent = std::function<void(int event, std::uint32_t value)>;

  // on_readable: the socket has messages. Throws zmq::error_t.
  Wire(Reactor& reactor, zmq::socket_type type, const Options& options, int monitored);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  Status watch(std::function<void()> on_readable, OnEvent on_event);
  zmq::socket_t& socket() { return socket_; }

  // Sends bytes, taking over large strings instead of copying them. `identity`: the peer's, for a
  // ROUTER; else empty.
  SendOutcome send(const std::string& identity, std::string bytes);

 private:
  void read_events(const OnEvent& on_event);

  Reactor& reactor_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  Subscription readable_, events_;
};

// Applies CURVE keys if there are any. Throws zmq::error_t for keys that are none.
void apply_security(zmq::socket_t& socket, const Security& security, bool is_server);

}  // namespace holon::transport
