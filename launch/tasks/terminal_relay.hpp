// terminal_relay.hpp - connects a terminal and a socket: what is typed and shown on one side
// appears on the other.
//
// It is the same on both sides of `holon run --pty`: on one the terminal is the person's, on the
// other (launch/tasks/pty.hpp) a pseudo terminal with the task in it. The socket is a connected
// SOCK_SEQPACKET one of this machine; a packet is its kind, one byte, and that kind's contents.
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
  window = 'w',  // a winsize: the person's window has a new size
};

// The settings of the task's terminal: those of the person's. Both ends run on one machine, from
// one binary, so the struct travels as it is in memory.
struct TerminalLook {
  winsize window{};
  termios modes{};
};

// An abstract socket name (there is no file) that nobody else has. Errors: system.
Result<std::string> new_socket_name();
// Errors: system.
Result<UniqueFd> listen_at(const std::string& name);
// The other side must be the same user. Errors: system, denied.
Result<UniqueFd> accept_from(int listener);
Result<UniqueFd> connect_to(const std::string& name);

Status send_packet(int socket, PacketKind kind, std::string_view bytes);
// Sends a value as it is in memory.
template <class Value>
requires std::is_trivially_copyable_v<Value> Status send_value(int socket, PacketKind kind,
                                                               const Value& value) {
  return send_packet(socket, kind,
                     std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
}

// One packet; receive_packet() waits for it unless the socket is O_NONBLOCK.
struct Packet {
  PacketKind kind = PacketKind::data;
  std::string bytes;
};
// Errors: disconnected at the end, busy where there is none now, protocol, system.
Result<Packet> receive_packet(int socket);

// Carries bytes one way; takes no more while its bytes cannot leave, so that the writer waits as it
// would for a real terminal.
class Flow {
 public:
  // Returns the available bytes; empty: nothing just now; error: the end.
  using Take = std::function<Result<std::string>()>;
  // Removes from the front of its argument what can leave now. Error: the end.
  using Give = std::function<Status(std::string&)>;

  // `from` and `to` are the descriptors that are waited for; they must outlive this object.
  Flow(transport::Reactor& reactor, int from, int to, Take take, Give give);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Errors: system. `on_end` is called once, from the reactor, when either side ends.
  Status begin(std::function<void()> on_end);
  // Returns bytes that were taken and could not leave yet.
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
  // packets that are not data.
  TerminalRelay(transport::Reactor& reactor, UniqueFd socket, int in, int out,
                std::function<void(const Packet&)> on_packet);
  // Errors: system. `on_end` is called when the other side has gone. A terminal that nobody has
  // open is no end: somebody may open it.
  Status begin(std::function<void()> on_end);
  // Lossless ends: the rest in the terminal is sent, or the rest in the socket is shown, until
  // nothing more is there just now.
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
