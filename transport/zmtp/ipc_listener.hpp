// ipc_listener.hpp - the server's end of an ipc:// address. Private to transport/; ipc_listener.cpp
// has the reasons and the bounds.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/unique_fd.hpp"
#include "transport/zmtp/fair_queue.hpp"
#include "transport/zmtp/ipc_connection.hpp"
#include "transport/zmtp/listener.hpp"

namespace holon::transport {

using Unproved = std::map<ConnectionId, IpcConnection*>;  // oldest first

class IpcListener final : public Listener, public std::enable_shared_from_this<IpcListener> {
 public:
  static constexpr std::size_t kFewest = 8;  // connections, however tight the limit
  // ms that a full house leaves guests, and those that wait for a place.
  static constexpr std::int64_t kMoment = 1'000;
  static constexpr std::size_t kReadAtOnce = 64 << 10;  // bytes

  IpcListener(Reactor& reactor, const Options& options, Events events)
      : reactor_(reactor), options_(options), events_(std::move(events)) {}
  ~IpcListener() override { shut(); }
  IpcListener(const IpcListener&) = delete;
  IpcListener& operator=(const IpcListener&) = delete;

  Status open(const std::string& path);

  bool send(ConnectionId id, std::string bytes) override;
  void leave(ConnectionId id) override;
  void close(ConnectionId id) override { drop(id); }
  void admit(ConnectionId id) override;
  void favour(ConnectionId id) override;
  std::optional<Principal> principal(ConnectionId id) const override;
  std::optional<std::size_t> unsent(ConnectionId id) const override;
  std::size_t places() const override { return most_ - most_unproved_ - most_waiting_; }
  void shut() override;

 private:
  Status bind(const std::string& path);
  IpcConnection* find(ConnectionId id) const;
  void on_ready();
  void accept_some();
  void take(UniqueFd socket);
  bool make_room_for(const Principal& newcomer);
  std::string no_room() const;
  bool turn_away(IpcConnection& guest);
  void watch_listener(bool wanted);
  void read(IpcConnection& c);
  void advance(IpcConnection& c);
  void serve();
  void serve_one(IpcConnection& c);
  void settle(IpcConnection& c);
  void flush(IpcConnection& c);
  void flush_all();
  void watch_all();
  void silence(IpcConnection& c);
  void give_up(IpcConnection& c);
  void doom(IpcConnection& c);
  void bury();
  void drop(ConnectionId id);
  void forget_unproved(IpcConnection& c);
  void bound_begun();
  std::int64_t group_of(const Principal& who) const;
  IpcConnection* with_most(const std::function<std::size_t(const IpcConnection&)>& size) const;
  void push(IpcConnection& c, std::string header, std::string bytes = {});
  void bound_unsent(IpcConnection& sender);
  std::size_t& unsent_with(const IpcConnection& c);
  void tick();
  void serve_soon();

  Reactor& reactor_;
  Options options_;
  Events events_;
  UniqueFd listener_, epoll_;
  std::string path_;
  bool closed_ = false;
  bool listening_ = false, serving_ = false;
  std::size_t most_ = kFewest, most_unproved_ = 1, most_waiting_ = 1;
  ConnectionId last_id_ = 0;
  std::unordered_map<ConnectionId, std::unique_ptr<IpcConnection>> connections_;
  std::unordered_map<std::int64_t, Unproved> unproved_;  // not admitted, or left; by group_of
  std::size_t unproved_count_ = 0;
  Unproved waiting_;  // for a guest's place
  std::vector<ConnectionId> unflushed_, unwatched_, doomed_;
  std::size_t begun_ = 0, unsent_ = 0, unsent_favoured_ = 0;  // bytes of all
  FairQueue queue_;
  Subscription readable_, flushing_, ticks_, again_;
  std::array<char, kReadAtOnce> scratch_{};
};

}  // namespace holon::transport
