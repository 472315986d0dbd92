// ipc_connection.hpp - the state of one connection of an IpcListener. Private to transport/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "transport/principal.hpp"
#include "transport/unique_fd.hpp"
#include "transport/zmtp/listener.hpp"
#include "transport/zmtp/out_buffer.hpp"
#include "transport/zmtp/page_allocator.hpp"
#include "transport/zmtp/zmtp.hpp"

namespace holon::transport {

struct IpcConnection {
  IpcConnection(ConnectionId number, UniqueFd socket, std::size_t max_message)
      : id(number), fd(std::move(socket)), zmtp(max_message) {}

  ConnectionId id;
  UniqueFd fd;
  Principal who;
  std::int64_t group = 0;  // shared with others: see group_of()
  Zmtp zmtp;
  InBytes in;  // read and not dealt with, from `at` on
  std::size_t at = 0;
  bool has_message = false;  // the next one is in[at + message_at ...], `message_size` long
  std::size_t message_at = 0, message_size = 0, step = 0;
  OutBuffer out;
  bool choked = false;
  std::int64_t progress = 0;  // while choked: monotonic ms at which it took something last
  bool mute = false;          // cannot be written to any more; what it said before is still served
  bool serving = false;       // its message is being handled
  bool admitted = false, favoured = false;
  bool waits = false;           // for a guest's place
  bool left = false;            // nothing more is read of it
  bool ended = false;           // the other side has closed
  bool doomed = false;          // is being closed
  bool unflushed = false;       // is in the list of those to be flushed
  std::uint32_t waits_for = 0;  // EPOLL*
  bool unwatched = false;       // is in the list of those that may have to wait for something else
  std::int64_t since = 0;       // monotonic ms: accepted, or left

  std::size_t begun() const { return in.size() - at; }
};

}  // namespace holon::transport
