// router_listener.cpp - a ROUTER socket, for tcp:// addresses; with an Admission for clients that
// prove by a key who they are.
//
// ROUTER does not say when a peer goes. So it is made to refuse sending to those that went
// (ROUTER_MANDATORY), and the monitor's "somebody disconnected" is passed on: who is sent something
// then and cannot be is gone. The monitor may be ahead of the socket's own knowledge by some ms,
// therefore it is passed on a second time a little later.
#include <cerrno>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "transport/codec/wire.hpp"
#include "transport/curve/callers.hpp"
#include "transport/curve/gatekeeper.hpp"
#include "transport/zmtp/listener.hpp"

namespace holon::transport {
namespace {

constexpr int kMessagesPerTurn = 512;  // then others get their turn
constexpr Duration kSecondLook = 20;   // ms
constexpr std::size_t kStrangers = 1024;
constexpr const char* kDomain = "holon";  // of ZAP

// A client with a key.
struct Known {
  std::string name;  // the one its key is known by
  std::string address;
};

class RouterListener final : public Listener, public std::enable_shared_from_this<RouterListener> {
 public:
  RouterListener(Reactor& reactor, Events events) : reactor_(reactor), events_(std::move(events)) {}

  // Opens the socket. Throws zmq::error_t.
  Status open(const std::string& uri, const Options& options) {
    wire_ =
        std::make_unique<Wire>(reactor_, zmq::socket_type::router, options, ZMQ_EVENT_DISCONNECTED);
    zmq::socket_t& socket = wire_->socket();
    socket.set(zmq::sockopt::router_mandatory, true);
    apply_security(socket, options.security, true);
    socket.bind(uri);
    return wire_->watch([this] { drain(); }, [this](int, std::uint32_t) { look_after_all(); });
  }
  // Opens a socket for keys. Throws zmq::error_t.
  Status open_for_keys(UniqueFd listener, const Options& options, Admission admission) {
    last_id_ = kFirstWithKey;
    admission_ = std::move(admission);
    gatekeeper_.emplace(reactor_, *admission_);
    if (auto watched = gatekeeper_->watch(); !watched) return watched;
    if (auto listens = listen_at(listener); !listens) return listens;
    wire_ = std::make_unique<Wire>(reactor_, zmq::socket_type::router, options, Callers::events());
    zmq::socket_t& socket = wire_->socket();
    socket.set(zmq::sockopt::router_mandatory, true);
    socket.set(zmq::sockopt::zap_domain, std::string(kDomain));
    socket.set(zmq::sockopt::handshake_ivl, static_cast<int>(options.introduction));
    apply_security(socket, {"", "", admission_->own.secret_key}, true);
    socket.set(zmq::sockopt::use_fd, listener.get());
    socket.bind("tcp://127.0.0.1:*");  // the descriptor says where
    listener.release();
    return wire_->watch([this] { drain(); },
                        [this](int event, std::uint32_t value) {
                          callers_.hear(event, value, admission_->on_refused);
                          if (event == ZMQ_EVENT_DISCONNECTED) look_after_all();
                        });
  }
  std::string uri() { return wire_->socket().get(zmq::sockopt::last_endpoint); }

  bool send(ConnectionId id, std::string bytes) override {
    const auto found = identities_.find(id);
    return wire_ && found != identities_.end() &&
           wire_->send(found->second, std::move(bytes)) == SendOutcome::sent;
  }
  void leave(ConnectionId id) override {
    if (!remembered_.contains(id)) close(id);
  }
  void close(ConnectionId id) override {
    const auto found = identities_.find(id);
    if (found == identities_.end()) return;
    by_identity_.erase(found->second);
    identities_.erase(found);
    strangers_.erase(id);
    remembered_.erase(id);
    names_.erase(id);
  }
  bool keeps_unread() const override { return true; }
  void remember(ConnectionId id) override {
    if (!identities_.contains(id)) return;
    strangers_.erase(id);
    remembered_.insert(id);
  }
  // A socket that takes no more just now has a peer nevertheless.
  bool is_there(ConnectionId id, std::string bytes) override {
    const auto found = identities_.find(id);
    return wire_ && found != identities_.end() &&
           wire_->send(found->second, std::move(bytes)) != SendOutcome::no_peer;
  }
  void admit(ConnectionId id) override { strangers_.erase(id); }
  void favour(ConnectionId) override {}
  std::optional<Principal> principal(ConnectionId id) const override {
    const auto known = names_.find(id);
    if (known == names_.end()) return std::nullopt;
    return Principal{Principal::Kind::key, 0, 0, 0, known->second.name};
  }
  std::string address(ConnectionId id) const override {
    const auto known = names_.find(id);
    return known == names_.end() ? std::string() : known->second.address;
  }
  std::optional<std::size_t> unsent(ConnectionId) const override { return std::nullopt; }
  std::size_t places() const override { return 0; }
  void shut() override {
    second_look_.cancel();
    wire_.reset();
    gatekeeper_.reset();
  }

 private:
  void drain() {
    const auto alive = shared_from_this();
    for (int i = 0; i < kMessagesPerTurn && wire_; ++i) {
      zmq::message_t identity, body;
      try {
        if (!wire_->socket().recv(identity, zmq::recv_flags::dontwait)) return;
        if (!identity.more()) continue;
        if (!wire_->socket().recv(body, zmq::recv_flags::dontwait)) return;
        const bool whole = !body.more();
        for (bool more = body.more(); more;) {
          zmq::message_t rest;
          more = wire_->socket().recv(rest, zmq::recv_flags::dontwait) && rest.more();
        }
        if (whole)
          events_.on_message(number_of(identity.to_string(), body), body.to_string_view());
        else
          events_.on_foreign();
      } catch (const zmq::error_t&) {
        return;  // interrupted; the rest is offered again
      }
    }
  }

  // Returns the number of the connection that the message came over. Connections that have sent no
  // greeting yet are strangers: kStrangers of them are remembered, and the oldest is closed for
  // another one.
  //
  // A client chooses its identity. A message under a known identity, but with another key, comes
  // from another client: the connection of the former one is closed, and this is a new one.
  ConnectionId number_of(const std::string& identity, zmq::message_t& message) {
    Known who = admission_ ? known_by(message) : Known();
    if (const auto found = by_identity_.find(identity); found != by_identity_.end()) {
      const ConnectionId known = found->second;
      if (!admission_ || names_[known].name == who.name) return known;
      close(known);
      events_.on_closed(known);
    }
    const ConnectionId id = ++last_id_;
    by_identity_.emplace(identity, id);
    identities_.emplace(id, identity);
    if (admission_) names_.emplace(id, std::move(who));
    strangers_.insert(id);
    if (strangers_.size() > kStrangers) close(*strangers_.begin());
    return id;
  }

  static Known known_by(zmq::message_t& message) {
    const auto property = [&message](const char* name) -> std::string {
      const char* const text = zmq_msg_gets(message.handle(), name);
      return text != nullptr ? text : "";
    };
    return {property("User-Id"), property("Peer-Address")};
  }

  void look_after_all() {
    second_look_ = reactor_.after(kSecondLook, [this] { events_.on_some_closed(); });
    events_.on_some_closed();
  }

  Reactor& reactor_;
  Events events_;
  std::optional<Admission> admission_;
  std::optional<Gatekeeper> gatekeeper_;
  Callers callers_;
  std::unique_ptr<Wire> wire_;
  ConnectionId last_id_ = 0;
  std::unordered_map<std::string, ConnectionId> by_identity_;
  std::unordered_map<ConnectionId, std::string> identities_;
  std::unordered_map<ConnectionId, Known> names_;
  std::set<ConnectionId> strangers_;  // oldest first
  std::unordered_set<ConnectionId> remembered_;
  Subscription second_look_;
};

}  // namespace

Result<RouterListenerAt> open_router_listener(Reactor& reactor, const std::string& uri,
                                              const Options& options, Listener::Events events) {
  auto listener = std::make_shared<RouterListener>(reactor, std::move(events));
  try {
    if (auto opened = listener->open(uri, options); !opened)
      return tl::unexpected<Error>(opened.error());
    auto at = listener->uri();
    return RouterListenerAt{std::move(listener), std::move(at)};
  } catch (const zmq::error_t& e) {
    return fail(e.num() == EADDRINUSE ? Errc::exists : Errc::invalid_argument,
                std::string("cannot listen: ") + e.what(), uri);
  }
}

Result<RouterListenerAt> open_key_listener(Reactor& reactor, UniqueFd socket,
                                           const Options& options, Admission admission,
                                           Listener::Events events) {
  auto listener = std::make_shared<RouterListener>(reactor, std::move(events));
  try {
    if (auto opened = listener->open_for_keys(std::move(socket), options, std::move(admission));
        !opened)
      return tl::unexpected<Error>(opened.error());
    auto at = listener->uri();
    return RouterListenerAt{std::move(listener), std::move(at)};
  } catch (const zmq::error_t& e) {
    return fail(e.num() == EADDRINUSE ? Errc::exists : Errc::system,
                std::string("cannot listen: ") + e.what(), "tcp");
  }
}

}  // namespace holon::transport
