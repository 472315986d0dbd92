// server.cpp - a ROUTER socket and one Session for each client that said hello.
//
// ROUTER does not say when a peer goes. So it is made to refuse sending to those that went
// (ROUTER_MANDATORY), the monitor's "somebody disconnected" makes the server send every peer a sign
// of life, and those it cannot be sent to are lost. The monitor may be ahead of the socket's own
// knowledge by some ms, therefore a second look a little later.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <unordered_map>

#include "transport/endpoint.hpp"
#include "transport/session.hpp"
#include "transport/unique_fd.hpp"
#include "transport/wire.hpp"

namespace holon::transport {
namespace {

constexpr int kMessagesPerTurn = 512;  // then others get their turn
constexpr Duration kSecondLook = 20;   // ms

// Held for the life of a server at an ipc path; released by the kernel when the process dies.
Result<UniqueFd> lock_path(const std::string& path) {
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock)
    return fail(errno == EACCES ? Errc::denied : Errc::system,
                std::string("cannot open: ") + std::strerror(errno), path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::exists, "another process listens there", path);
  return lock;
}

bool is_loopback(const std::string& uri) {
  for (const char* host : {"tcp://127.", "tcp://localhost:", "tcp://[::1]:"})
    if (uri.starts_with(host)) return true;
  return false;
}

}  // namespace

class Server::Impl : public std::enable_shared_from_this<Impl> {
 public:
  struct Peer {
    PeerId id;
    std::string identity;
    std::shared_ptr<Session> session;
  };

  Impl(Reactor& reactor, Options options)
      : shared_(std::make_shared<SessionShared>(
            SessionShared{reactor, std::move(options), new_incarnation(), 0, {}, {}})),
        nobody_(std::make_shared<Session>(shared_, PeerId{}, [](const std::string&) {})) {
    nobody_->kill({Errc::disconnected, "no such peer, or it went away", ""});
  }
  ~Impl() { close(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status listen(const std::string& uri) {
    if (uri.starts_with("ipc://")) {
      if (auto state = probe_ipc(uri); !state && state.error().code != Errc::system)
        return tl::unexpected<Error>(state.error());
      auto lock = lock_path(uri.substr(6) + ".lock");
      if (!lock) return tl::unexpected<Error>(lock.error());
      lock_ = std::move(*lock);
    } else if (shared_->options.security.secret_key.empty() && !is_loopback(uri)) {
      return fail(Errc::invalid_argument,
                  "without keys a server listens at ipc:// or a loopback address only", uri);
    }
    try {
      return bind(uri);
    } catch (const zmq::error_t& e) {
      return fail(e.num() == EADDRINUSE ? Errc::exists : Errc::invalid_argument,
                  std::string("cannot listen: ") + e.what(), uri);
    }
  }

  void close() {
    closed_ = true;
    ticks_.cancel();
    second_look_.cancel();
    for (auto& [id, peer] : std::exchange(by_id_, {}))
      peer->session->kill({Errc::disconnected, "the server was closed", ""});
    by_identity_.clear();
    wire_.reset();
  }

  const std::string& uri() const { return uri_; }
  SessionShared& shared() { return *shared_; }

  Session& session_of(PeerId peer) {
    const auto found = by_id_.find(peer);
    return found == by_id_.end() ? *nobody_ : *found->second->session;
  }

  void cancel(CallId call) {
    if (nobody_->cancel(call)) return;
    for (const auto& [id, peer] : by_id_)
      if (peer->session->cancel(call)) return;
  }

  std::function<void(PeerId, const PeerInfo&)> on_peer;
  std::function<void(PeerId)> on_peer_lost;

 private:
  Status bind(const std::string& uri) {
    wire_ = std::make_unique<Wire>(shared_->reactor, zmq::socket_type::router, shared_->options,
                                   ZMQ_EVENT_DISCONNECTED);
    zmq::socket_t& socket = wire_->socket();
    socket.set(zmq::sockopt::router_mandatory, true);
    apply_security(socket, shared_->options.security, true);
    socket.bind(uri);
    uri_ = socket.get(zmq::sockopt::last_endpoint);
    if (uri.starts_with("ipc://")) {
      uri_ = uri;
      chmod(uri.substr(6).c_str(), 0600);
    }
    const auto weak = weak_from_this();
    const Status watched = wire_->watch(
        [weak] {
          if (const auto self = weak.lock()) self->drain();
        },
        [weak](int) {
          if (const auto self = weak.lock()) self->look_after_all();
        });
    if (!watched) return watched;
    ticks_ = shared_->reactor.every(std::max<Duration>(shared_->options.heartbeat / 2, 1), [weak] {
      if (const auto self = weak.lock()) self->tick();
    });
    return {};
  }

  void drain() {
    for (int i = 0; i < kMessagesPerTurn && !closed_; ++i) {
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
          on_message(identity.to_string(), body.to_string_view());
        else
          ++shared_->counters.malformed;
      } catch (const zmq::error_t&) {
        return;  // interrupted; the rest is offered again
      }
    }
  }

  void on_message(const std::string& identity, std::string_view bytes) {
    auto envelope = decode(bytes);
    const auto found = by_identity_.find(identity);
    const auto peer = found == by_identity_.end() ? nullptr : found->second;
    if (!envelope) return on_rubbish(identity, peer.get(), envelope.error());
    if (envelope->kind == Kind::hello) return on_hello(identity, *envelope, bytes.size());
    if (!peer) {
      if (envelope->kind != Kind::bye) wire_->send(identity, encode({Kind::bye, 0, "", "", ""}));
      return;
    }
    if (envelope->kind == Kind::bye) return lose(peer->id);
    peer->session->receive(std::move(*envelope), bytes.size());
  }

  void on_rubbish(const std::string& identity, Peer* peer, const DecodeError& rubbish) {
    auto& counters = shared_->counters;
    ++(rubbish.error.code == Errc::unsupported ? counters.unknown_version : counters.malformed);
    if (!rubbish.request_id) return;
    const Envelope answer{Kind::error, *rubbish.request_id, "", "", encode_error(rubbish.error)};
    if (peer)
      peer->session->send(answer);
    else
      wire_->send(identity, encode(answer));
  }

  void on_hello(const std::string& identity, const Envelope& hello, std::size_t bytes) {
    const auto greeting = decode_greeting(hello.payload);
    if (!greeting) {
      ++shared_->counters.malformed;
      return;
    }
    if (const auto found = by_identity_.find(identity); found != by_identity_.end())
      lose(found->second->id);
    auto peer = std::make_shared<Peer>();
    peer->id = PeerId{++last_peer_};
    peer->identity = identity;
    peer->session = std::make_shared<Session>(
        shared_, peer->id,
        [this, raw = peer.get()](std::string out) { transmit(*raw, std::move(out)); });
    by_identity_[identity] = peer;
    by_id_[peer->id] = peer;
    peer->session->peer_limit(greeting->max_message);
    peer->session->open();
    peer->session->count_received(bytes);
    peer->session->send_now({Kind::welcome, hello.id, "", "",
                             encode_greeting({shared_->options.name, getpid(), shared_->incarnation,
                                              shared_->options.max_message})});
    if (on_peer) on_peer(peer->id, {greeting->name, greeting->pid, greeting->incarnation});
  }

  // Losses are dealt with by the loop: whoever sends must not find its own state changed by it.
  void transmit(const Peer& peer, std::string bytes) {
    if (closed_) return;
    const bool too_slow = peer.session->backlog() > shared_->options.max_backlog;
    if (!too_slow && wire_->send(peer.identity, std::move(bytes)) == SendOutcome::sent) return;
    if (too_slow) ++shared_->counters.too_slow;
    shared_->reactor.defer([weak = weak_from_this(), id = peer.id] {
      if (const auto self = weak.lock()) self->lose(id);
    });
  }

  void lose(PeerId id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;
    const auto alive = shared_from_this();
    const auto peer = found->second;
    by_id_.erase(found);
    by_identity_.erase(peer->identity);
    peer->session->kill({Errc::disconnected, "the peer went away", ""});
    if (!closed_) wire_->send(peer->identity, encode({Kind::bye, 0, "", "", ""}));
    if (on_peer_lost) on_peer_lost(id);
  }

  void tick() {
    const std::int64_t now = monotonic_ms();
    std::vector<PeerId> silent;
    for (const auto& [id, peer] : by_id_) {
      if (now - peer->session->last_heard() > shared_->options.peer_timeout) silent.push_back(id);
      peer->session->keep_alive(now - shared_->options.heartbeat / 2);
    }
    for (const PeerId id : silent) lose(id);
  }

  void look_after_all() {
    knock();
    second_look_ = shared_->reactor.after(kSecondLook, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->knock();
    });
  }

  void knock() {
    const std::int64_t now = monotonic_ms();
    for (const auto& [id, peer] : by_id_) peer->session->keep_alive(now);
  }

  std::shared_ptr<SessionShared> shared_;
  std::shared_ptr<Session> nobody_;  // answers for peers that are gone
  UniqueFd lock_;                    // of its path
  std::unique_ptr<Wire> wire_;
  std::string uri_;
  bool closed_ = false;
  std::uint64_t last_peer_ = 0;
  std::unordered_map<std::string, std::shared_ptr<Peer>> by_identity_;
  std::map<PeerId, std::shared_ptr<Peer>> by_id_;
  Subscription ticks_, second_look_;
};

Result<std::unique_ptr<Server>> Server::listen(Reactor& reactor, const std::string& uri,
                                               Options options) {
  auto impl = std::make_shared<Impl>(reactor, std::move(options));
  if (auto listening = impl->listen(uri); !listening)
    return tl::unexpected<Error>(listening.error());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() {
  impl_->close();
}

const std::string& Server::uri() const {
  return impl_->uri();
}
void Server::on_request(RequestHandler handler) {
  impl_->shared().on_request = std::move(handler);
}
void Server::on_peer(std::function<void(PeerId, const PeerInfo&)> callback) {
  impl_->on_peer = std::move(callback);
}
void Server::on_peer_lost(std::function<void(PeerId)> callback) {
  impl_->on_peer_lost = std::move(callback);
}
CallId Server::call(PeerId peer, Call call, ReplyHandler done) {
  return impl_->session_of(peer).call(std::move(call), std::move(done));
}
CallId Server::open(PeerId peer, Call call, StreamHandlers handlers) {
  return impl_->session_of(peer).stream(std::move(call), std::move(handlers));
}
void Server::forward(PeerId peer, const Request& request, std::string path) {
  impl_->session_of(peer).forward(request, std::move(path));
}
void Server::notify(PeerId peer, std::string topic, std::string payload) {
  impl_->session_of(peer).notify(std::move(topic), std::move(payload));
}
void Server::cancel(CallId call) {
  impl_->cancel(call);
}
Counters Server::counters() const {
  return impl_->shared().counters;
}

}  // namespace holon::transport
