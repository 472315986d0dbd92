// ipc_unproved.cpp - which connection has to go where a listener has no room, and what it is told.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "transport/session.hpp"
#include "transport/zmtp/ipc_listener.hpp"

namespace holon::transport {

// The group that shares the server's time and the places of guests: a process, or, where other
// users connect, all processes of one of them.
std::int64_t IpcListener::group_of(const Principal& who) const {
  const bool is_other = options_.for_everybody && who.uid != 0 && who.uid != geteuid();
  return is_other ? -1 - std::int64_t{who.uid} : who.pid;
}

// The connection that has most in the group that has most together: small ones do not pay for a
// user with many connections. nullptr: none has anything.
IpcConnection* IpcListener::with_most(
    const std::function<std::size_t(const IpcConnection&)>& size) const {
  std::unordered_map<std::int64_t, std::size_t> of_group;
  if (options_.for_everybody)
    for (const auto& [id, c] : connections_)
      if (!c->doomed) of_group[c->group] += size(*c);
  IpcConnection* most = nullptr;
  std::pair<std::size_t, std::size_t> largest;
  for (const auto& [id, c] : connections_) {
    const std::size_t own = c->doomed ? 0 : size(*c);
    if (own == 0) continue;
    const std::pair cost(options_.for_everybody ? of_group[c->group] : own, own);
    if (most == nullptr || cost > largest) {
      most = c.get();
      largest = cost;
    }
  }
  return most;
}

// Takes a place from the group with the most guests: its oldest one goes. If that is the newcomer's
// own group, the others have a moment to introduce themselves: false.
bool IpcListener::make_room_for(const Principal& newcomer) {
  const auto most = std::max_element(
      unproved_.begin(), unproved_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == unproved_.end()) return false;
  const auto& [id, oldest] = *most->second.begin();
  if (most->first == group_of(newcomer) && monotonic_ms() - oldest->since < kMoment) return false;
  return turn_away(*oldest);
}

// The message to a connection that is closed before it has said hello. It answers nothing: a client
// that meant well connects again.
std::string IpcListener::no_room() const {
  return encode({Kind::error, 0, "", "",
                 encode_error({Errc::busy,
                               std::to_string(most_unproved_) +
                                   " connections that have said no hello are open, most of them "
                                   "of this process or user",
                               ""})});
}

// Tells only a guest that has completed the handshake; what has come is read for that first. To a
// ZeroMQ socket a message before its own READY has gone out is an error of the protocol, after
// which it never connects again. False: the guest has just said something, and stays.
bool IpcListener::turn_away(IpcConnection& guest) {
  const ConnectionId id = guest.id;
  if (!guest.zmtp.in_traffic() && !guest.left) read(guest);
  if (guest.has_message && !guest.doomed) return false;
  if (guest.zmtp.in_traffic() && !guest.doomed) {
    std::string message = no_room();
    std::string header = Zmtp::frame_header(message.size());
    push(guest, std::move(header), std::move(message));
    flush(guest);
  }
  drop(id);
  return true;
}

void IpcListener::forget_unproved(IpcConnection& c) {
  if (std::exchange(c.waits, false)) waiting_.erase(c.id);
  const auto group = unproved_.find(c.group);
  if (group == unproved_.end() || group->second.erase(c.id) == 0) return;
  --unproved_count_;
  if (group->second.empty()) unproved_.erase(group);
}

}  // namespace holon::transport
