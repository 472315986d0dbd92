// wire.cpp - socket options common to both sides, and the monitor.
//
// High-water marks are off for sending: what a slow peer has not confirmed is counted by Session
// instead, which knows bytes and whose they are. Receiving keeps ZeroMQ's mark, so that a flood
// waits in the sender.
#include "transport/codec/wire.hpp"

#include <cstring>
#include <memory>

namespace holon::transport {
namespace {

constexpr std::size_t kCopyBelow = 8192;  // bytes; copying is cheaper than one more allocation
constexpr int kLingerMs = 1000;           // for the last answers of a process that ends
constexpr int kReceiveMark = 20000;       // messages

zmq::message_t to_message(std::string bytes) {
  if (bytes.size() < kCopyBelow) return zmq::message_t(bytes.data(), bytes.size());
  auto owned = std::make_unique<std::string>(std::move(bytes));
  zmq::message_t message(
      owned->data(), owned->size(),
      [](void*, void* hint) { delete static_cast<std::string*>(hint); }, owned.get());
  owned.release();  // NOLINT: the message frees it
  return message;
}

}  // namespace

Wire::Wire(Reactor& reactor, zmq::socket_type type, const Options& options, int monitored)
    : reactor_(reactor),
      socket_(reactor.zmq_context(), type),
      monitor_(reactor.zmq_context(), zmq::socket_type::pair) {
  socket_.set(zmq::sockopt::linger, kLingerMs);
  socket_.set(zmq::sockopt::sndhwm, 0);
  socket_.set(zmq::sockopt::rcvhwm, kReceiveMark);
  socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(options.max_message));
  monitor_.set(zmq::sockopt::linger, 0);
  const std::string address =
      "inproc://monitor-" + std::to_string(reinterpret_cast<std::uintptr_t>(socket_.handle()));
  if (zmq_socket_monitor(socket_.handle(), address.c_str(), monitored) != 0) throw zmq::error_t();
  monitor_.connect(address);
}

Wire::~Wire() {
  zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

Status Wire::watch(std::function<void()> on_readable, OnEvent on_event) {
  auto readable = reactor_.on_socket(socket_.handle(), std::move(on_readable));
  if (!readable) return tl::unexpected<Error>(readable.error());
  auto events = reactor_.on_socket(
      monitor_.handle(), [this, on_event = std::move(on_event)] { read_events(on_event); });
  if (!events) return tl::unexpected<Error>(events.error());
  readable_ = std::move(*readable);
  events_ = std::move(*events);
  return {};
}

// One event a call: handling it may close this wire.
void Wire::read_events(const OnEvent& on_event) {
  zmq::message_t event, address;
  if (!monitor_.recv(event, zmq::recv_flags::dontwait)) return;
  if (!event.more() || !monitor_.recv(address, zmq::recv_flags::dontwait)) return;
  std::uint16_t number = 0;
  std::uint32_t value = 0;
  if (event.size() < sizeof number + sizeof value) return;
  std::memcpy(&number, event.data(), sizeof number);
  std::memcpy(&value, static_cast<const char*>(event.data()) + sizeof number, sizeof value);
  on_event(number, value);
}

SendOutcome Wire::send(const std::string& identity, std::string bytes) {
  try {
    if (!identity.empty() &&
        !socket_.send(zmq::buffer(identity), zmq::send_flags::sndmore | zmq::send_flags::dontwait))
      return SendOutcome::full;
    return socket_.send(to_message(std::move(bytes)), zmq::send_flags::dontwait)
               ? SendOutcome::sent
               : SendOutcome::full;
  } catch (const zmq::error_t&) {
    return SendOutcome::no_peer;
  }
}

void apply_security(zmq::socket_t& socket, const Security& security, bool is_server) {
  if (security.secret_key.empty()) return;
  socket.set(zmq::sockopt::curve_secretkey, security.secret_key);
  if (is_server) {
    socket.set(zmq::sockopt::curve_server, true);
    return;
  }
  socket.set(zmq::sockopt::curve_publickey, security.public_key);
  socket.set(zmq::sockopt::curve_serverkey, security.server_public_key);
}

}  // namespace holon::transport
