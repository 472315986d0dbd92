// zmq_line.cpp - a DEALER socket. ZeroMQ reconnects by itself; the monitor tells when.
// ZMQ_IMMEDIATE keeps it from queueing for a connection that is not there: a message for a dead
// server must not reach its successor before the hello.
#include <limits>

#include "transport/codec/wire.hpp"
#include "transport/zmtp/line.hpp"

namespace holon::transport {
namespace {

constexpr int kMessagesOfOneTurn = 512;
constexpr int kReconnectMs = 10;  // doubled at each failure
constexpr int kReconnectMaxMs = 250;

class ZmqLine final : public Line, public std::enable_shared_from_this<ZmqLine> {
 public:
  explicit ZmqLine(Events events) : events_(std::move(events)) {}

  // Opens the line. Throws zmq::error_t.
  Status open(Reactor& reactor, const std::string& uri, const Options& options) {
    wire_ = std::make_unique<Wire>(reactor, zmq::socket_type::dealer, options,
                                   ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    zmq::socket_t& socket = wire_->socket();
    socket.set(zmq::sockopt::immediate, true);
    socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
    socket.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
    apply_security(socket, options.security, false);
    socket.connect(uri);
    const auto weak = weak_from_this();
    return wire_->watch(
        [weak] {
          if (const auto self = weak.lock()) self->drain(kMessagesOfOneTurn);
        },
        [weak](int event, std::uint32_t) {
          if (const auto self = weak.lock()) self->on_event(event);
        });
  }

  bool send(std::string bytes) override {
    return wire_ && wire_->send("", std::move(bytes)) == SendOutcome::sent;
  }
  void close() override { wire_.reset(); }

 private:
  void on_event(int event) {
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) return events_.on_made();
    drain(std::numeric_limits<int>::max());  // the server's last messages
    if (wire_) events_.on_broken();
  }

  void drain(int at_most) {
    for (int i = 0; i < at_most && wire_; ++i) {
      zmq::message_t body;
      try {
        if (!wire_->socket().recv(body, zmq::recv_flags::dontwait)) return;
      } catch (const zmq::error_t&) {
        return;
      }
      if (body.more())
        skip_rest();
      else
        events_.on_message(body.to_string_view());
    }
  }

  void skip_rest() {
    events_.on_foreign();
    for (bool more = true; more && wire_;) {
      zmq::message_t rest;
      more = wire_->socket().recv(rest, zmq::recv_flags::dontwait) && rest.more();
    }
  }

  Events events_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace

Result<std::shared_ptr<Line>> open_zmq_line(Reactor& reactor, const std::string& uri,
                                            const Options& options, Line::Events events) {
  auto line = std::make_shared<ZmqLine>(std::move(events));
  try {
    if (auto opened = line->open(reactor, uri, options); !opened)
      return tl::unexpected<Error>(opened.error());
  } catch (const zmq::error_t& e) {
    return fail(Errc::invalid_argument, std::string("cannot connect: ") + e.what(), uri);
  }
  return std::shared_ptr<Line>(std::move(line));
}

}  // namespace holon::transport
