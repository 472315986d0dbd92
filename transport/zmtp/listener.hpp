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
// Those of a listener for clients with keys, beside another one of the same server, begin here.
inline constexpr ConnectionId kFirstWithKey = std::uint64_t{1} << 63U;

class Listener {
 public:
  struct Events {
    // `message` is gone when the callback returns.
    std::function<void(ConnectionId, std::string_view message)> on_message;
    // The connection has ended, not by close() or leave().
    std::function<void(ConnectionId)> on_closed;
    // Somebody has gone, and the listener cannot say who: send() to all tells.
    std::function<void()> on_some_closed;
    std::function<void()> on_foreign;  // a message of several parts came, and was read over
    // A connection is about to be closed because it does not take what was sent to it.
    std::function<void()> on_too_slow;
  };

  virtual ~Listener() = default;
  // False: there is no such connection (any more), or it cannot be written to.
  virtual bool send(ConnectionId connection, std::string bytes) = 0;
  // Nothing more is read of it; it is closed by the other side, or after a while.
  virtual void leave(ConnectionId connection) = 0;
  virtual void close(ConnectionId connection) = 0;
  // It has introduced itself: silence does not end it any more.
  virtual void admit(ConnectionId connection) = 0;
  // It is served first, and may have much more sent to it than others.
  virtual void favour(ConnectionId connection) = 0;
  // Who is at the other end; nullopt where neither the kernel nor a key says.
  virtual std::optional<Principal> principal(ConnectionId connection) const = 0;
  // Of a connection with a key: the address of the other end, without its port; "": not known.
  virtual std::string address(ConnectionId) const { return {}; }
  // Bytes sent to it that the kernel has not taken yet; nullopt: not known.
  virtual std::optional<std::size_t> unsent(ConnectionId connection) const = 0;
  // Does what somebody was sent and has not read stay in memory until the connection ends, also
  // after leave()?
  virtual bool keeps_unread() const { return false; }
  // Of such a listener: leave() does not forget this connection, which keeps its number.
  virtual void remember(ConnectionId) {}
  // Of such a listener: is a connection that is remembered still there? It is sent a few bytes.
  virtual bool is_there(ConnectionId, std::string) { return false; }
  // How many connections may be admitted; 0: no bound is known.
  virtual std::size_t places() const = 0;
  // Gives what was sent a moment to leave, and ends.
  virtual void shut() = 0;
};

// Errors: system; exists (somebody listens there).
Result<std::shared_ptr<Listener>> open_ipc_listener(Reactor& reactor, const std::string& path,
                                                    const Options& options,
                                                    Listener::Events events);
struct RouterListenerAt {
  std::shared_ptr<Listener> listener;
  std::string uri;  // with the port that was chosen
};
// Errors: invalid_argument, exists.
Result<RouterListenerAt> open_router_listener(Reactor& reactor, const std::string& uri,
                                              const Options& options, Listener::Events events);
// At a socket that listens already, which is taken over, for clients that `admission` knows.
// Errors: exists (the reactor has such a listener), system.
Result<RouterListenerAt> open_key_listener(Reactor& reactor, UniqueFd socket,
                                           const Options& options, Admission admission,
                                           Listener::Events events);

}  // namespace holon::transport
