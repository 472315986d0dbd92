// terminal_relay.hpp - between a terminal and a socket: what is typed and shown on one side appears
// on the other.
//
// The same on both sides of `holon run --pty`: there the terminal is the person's, here
// (launch/tasks/pty.hpp) a pseudo terminal with the task in it. The socket is a connected
// SOCK_SEQPACKET one of this machine; a packet is its kind, one byte, and what that kind is about.
#pragma once
#include <sys/ioctl.h>
#include <termios.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

using transport::UniqueFd;

enum class PacketKind : char {
  begin = 'b',   // a TerminalLook: the first packet, from the person's side
  data = 'd',    // bytes, both ways
  window = 'w',  // a winsize: the person's window has another size now
};

// What the task's terminal is to look like: that of the person. Both ends run on one machine, from
// one binary, so it travels as it lies in memory.
struct TerminalLook {
  winsize window{};
  termios modes{};
};

// A socket name (abstract: there is no file) as nobody else has it. Errors: system.
Result<std::string> new_socket_name();
// Errors: system.
Result<UniqueFd> listen_at(const std::string& name);
// Whoever connects or listens must be the same user. Errors: system, denied.
Result<UniqueFd> accept_from(int listener);
Result<UniqueFd> connect_to(const std::string& name);

Status send_packet(int socket, PacketKind kind, std::string_view bytes);
// A value as it lies in memory.
template <class Value>
requires std::is_trivially_copyable_v<Value> Status send_value(int socket, PacketKind kind,
                                                               const Value& value) {
  return send_packet(socket, kind,
                     std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
}

// One packet, waited for unless the socket is O_NONBLOCK.
struct Packet {
  PacketKind kind = PacketKind::data;
  std::string bytes;
};
// Errors: disconnected at the end, busy where there is none now, protocol, system.
Result<Packet> receive_packet(int socket);

// Carries bytes one way; takes no more while its bytes cannot leave, so that the writer waits as
// it would for a real terminal.
class Flow {
 public:
  // Returns what is there; empty: nothing just now; error: the end.
  using Take = std::function<Result<std::string>()>;
  // Takes what can leave now off the front of it. Error: the end.
  using Give = std::function<Status(std::string&)>;

  // `from` and `to` are what is waited for; they must outlive this.
  Flow(transport::Reactor& reactor, int from, int to, Take take, Give give);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Errors: system. `on_end` is called once, from the reactor, at either one's end.
  Status begin(std::function<void()> on_end);
  // Returns what was taken and could not leave yet.
  std::string stop();

 private:
  Status listen();
  void move_some();
  void wait_for_room();
  void end();

  transport::Reactor& reactor_;
  int from_, to_;
  Take take_;
  Give give_;
  std::function<void()> on_end_;
  std::string pending_;
  UniqueFd to_again_;  // a descriptor can be waited for once only
  transport::Subscription readable_, writable_;
};

class TerminalRelay {
 public:
  // Reads `in` and writes to `out`, both of the terminal; they stay the caller's. `on_packet` gets
  // what is not data.
  TerminalRelay(transport::Reactor& reactor, UniqueFd socket, int in, int out,
                std::function<void(const Packet&)> on_packet);
  // Errors: system. `on_end` is called when the other side has gone. A terminal that nobody has
  // open is no end: somebody may open it.
  Status begin(std::function<void()> on_end);
  // Lossless ends: what the terminal holds is sent, or what the socket holds is shown, until there
  // is no more just now.
  void send_the_rest();
  void show_the_rest();
  void stop();
  int socket() const { return socket_.get(); }

 private:
  Result<std::string> read_terminal() const;
  Result<std::string> read_socket() const;

  UniqueFd socket_;
  int in_, out_;
  std::function<void(const Packet&)> on_packet_;
  Flow to_socket_, to_terminal_;
};

}  // namespace holon::launch
