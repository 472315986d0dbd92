// listener.hpp - where a server's connections come in, and whole messages through them. Private to
// transport/ and to what stands in for the network (network.hpp).
//
// Two kinds: IpcListener for ipc:// addresses bounds what each connection may cost; RouterListener
// for tcp:// leaves connections to a ZeroMQ ROUTER socket, which cannot. So strangers have to show
// a key there before they cost anything but a descriptor.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transport/curve/admission.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {

// One connection; never reused within a process.
using ConnectionId = std::uint64_t;
// The first number for connections with keys, of a listener beside another one of the same server.
inline constexpr ConnectionId kFirstWithKey = std::uint64_t{1} << 63U;

class Listener {
 public:
  struct Events {
    // `message` is gone when the callback returns.
    std::function<void(ConnectionId, std::string_view message)> on_message;
    // Called when the connection has ended, not by close() or leave().
    std::function<void(ConnectionId)> on_closed;
    // Called when a connection has gone, and the listener cannot say which: send() to all tells.
    std::function<void()> on_some_closed;
    std::function<void()> on_foreign;  // a message of several parts came, and was read over
    // Called when a connection will be closed because it does not take what was sent to it.
    std::function<void()> on_too_slow;
  };

  virtual ~Listener() = default;
  // Sends; false: there is no such connection (any more), or it cannot be written to.
  virtual bool send(ConnectionId connection, std::string bytes) = 0;
  // Reads nothing more of it; the other side closes it, or it is closed after a while.
  virtual void leave(ConnectionId connection) = 0;
  virtual void close(ConnectionId connection) = 0;
  // Notes that it has introduced itself: silence does not end it any more.
  virtual void admit(ConnectionId connection) = 0;
  // Serves it first; much more may be sent to it than to others.
  virtual void favour(ConnectionId connection) = 0;
  // The other end; nullopt if neither the kernel nor a key says.
  virtual std::optional<Principal> principal(ConnectionId connection) const = 0;
  // The address of the other end of a connection with a key, without its port; "": not known.
  virtual std::string address(ConnectionId) const { return {}; }
  // Bytes sent to it that the kernel has not taken yet; nullopt: not known.
  virtual std::optional<std::size_t> unsent(ConnectionId connection) const = 0;
  // Do bytes sent and not read stay in memory until the connection ends, even after leave()?
  virtual bool keeps_unread() const { return false; }
  // If keeps_unread(): leave() does not forget this connection, which keeps its number.
  virtual void remember(ConnectionId) {}
  // If keeps_unread(): is a remembered connection still there? It is sent a few bytes.
  virtual bool is_there(ConnectionId, std::string) { return false; }
  // The number of connections that may be admitted; 0: no bound is known.
  virtual std::size_t places() const = 0;
  // Gives what was sent a moment to leave, and ends.
  virtual void shut() = 0;
};

// Opens a listener. Errors: system; exists (somebody listens there).
Result<std::shared_ptr<Listener>> open_ipc_listener(Reactor& reactor, const std::string& path,
                                                    const Options& options,
                                                    Listener::Events events);
struct RouterListenerAt {
  std::shared_ptr<Listener> listener;
  std::string uri;  // with the port that was chosen
};
// Opens a listener. Errors: invalid_argument, exists.
Result<RouterListenerAt> open_router_listener(Reactor& reactor, const std::string& uri,
                                              const Options& options, Listener::Events events);
// Takes over a socket that listens already, for clients that `admission` knows. Errors: exists (the
// reactor has such a listener), system.
Result<RouterListenerAt> open_key_listener(Reactor& reactor, UniqueFd socket,
                                           const Options& options, Admission admission,
                                           Listener::Events events);

}  // namespace holon::transport
