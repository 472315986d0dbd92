// server.cpp - one Session for each client that said hello, over the connections of a Listener.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "transport/bounds.hpp"
#include "transport/endpoint.hpp"
#include "transport/network.hpp"
#include "transport/session.hpp"
#include "transport/shares.hpp"
#include "transport/unique_fd.hpp"
#include "transport/zmtp/unread_bytes.hpp"

namespace holon::transport {
namespace {

constexpr std::string_view kIpc = "ipc://";
constexpr std::int64_t kProof = 10'000;  // ms in which who has a kept place must be favoured

Error no_more_of_user(std::size_t most) {
  return {Errc::busy,
          "this user has " + std::to_string(most) + " connections, as many as one user may have",
          ""};
}

Error no_more_from(const std::string& address, std::size_t most) {
  return {Errc::busy,
          "there are " + std::to_string(most) + " connections from " + address +
              " of which nobody knows whose they are, as many as one address may have",
          ""};
}

Error too_much_unread(std::size_t unread, std::size_t most) {
  return {Errc::busy,
          std::to_string(unread) + " bytes of answers to this client are unread; " +
              std::to_string(most) + " may be",
          ""};
}

// A lock for the life of a server at an ipc path; released by the kernel when the process dies.
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

Error no_place(std::size_t places) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {Errc::busy,
          "this instance serves " + std::to_string(places) +
              " clients at once, and has as many; its limit of open files (ulimit -n) is " +
              std::to_string(limit.rlim_cur),
          ""};
}

}  // namespace

class Server::Impl : public std::enable_shared_from_this<Impl> {
 public:
  struct Peer {
    PeerId id;
    ConnectionId connection = 0;
    std::shared_ptr<Session> session;
    bool kept_place = false;     // has one because of its name
    bool is_among_last = false;  // it came when only places that are kept were free
    bool favoured = false;
    bool given_up = false;   // is lost soon: what was not sent leaves a gap, and nothing follows
    std::string last_word;   // the payload of its bye: an error, or empty
    std::int64_t since = 0;  // monotonic ms
    Holder holder;           // in whose count of connections it is
  };

  Impl(Reactor& reactor, Options options)
      : shared_(std::make_shared<SessionShared>(
            SessionShared{reactor, std::move(options), new_incarnation(), 0, {}, {}, 0})),
        nobody_(std::make_shared<Session>(shared_, PeerId{}, [](const std::string&) {})) {
    nobody_->kill({Errc::disconnected, "no such peer, or it went away", ""});
  }
  ~Impl() { close(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status listen(const std::string& uri) {
    const bool ipc = uri.starts_with(kIpc);
    if (!ipc && shared_->options.security.secret_key.empty() && !is_loopback(uri))
      return fail(Errc::invalid_argument,
                  "without keys a server listens at ipc:// or a loopback address only", uri);
    Network* const network = shared_->reactor.network();
    auto open = network != nullptr ? open_of(*network, uri) : ipc ? open_ipc(uri) : open_tcp(uri);
    if (!open) return open;
    places_ = listener_->places();
    kept_ = shared_->options.kept_for.empty() ? 0 : places_ / 8;
    shares_.places(places_);
    ticks_ = shared_->reactor.every(std::max<Duration>(shared_->options.heartbeat / 2, 1),
                                    [weak = weak_from_this()] {
                                      if (const auto self = weak.lock()) self->tick();
                                    });
    return {};
  }

  Result<std::string> also_listen(UniqueFd socket, Admission admission) {
    if (key_listener_) return fail(Errc::exists, "this server has a listener for keys already");
    Network* const network = shared_->reactor.network();
    auto at =
        network != nullptr
            ? network->listen_for_keys(shared_->reactor, std::move(admission), listener_events())
            : open_key_listener(shared_->reactor, std::move(socket), shared_->options,
                                std::move(admission), listener_events());
    if (!at) return tl::unexpected<Error>(at.error());
    key_listener_ = std::move(at->listener);
    return std::move(at->uri);
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    ticks_.cancel();
    leave_.cancel();
    for (auto& [id, peer] : std::exchange(by_id_, {}))
      peer->session->kill({Errc::disconnected, "the server was closed", ""});
    by_connection_.clear();
    for (const auto& listener :
         {std::exchange(listener_, nullptr), std::exchange(key_listener_, nullptr)})
      if (listener) listener->shut();
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

  void favour(PeerId id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || std::exchange(found->second->favoured, true)) return;
    uncount(*found->second);
    // Another user's peer keeps that user's bounds, or one that speaks for it had none.
    if (shared_->bounded_user(found->second->session->principal())) return;
    found->second->session->favour();
    listener_of(found->second->connection).favour(found->second->connection);
  }

  // A peer whose user has too many connections stays unproved.
  void prove(PeerId id, const Principal& who) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;
    Peer& peer = *found->second;
    Holder holder = holder_of(who, peer.connection);
    if (holder != peer.holder) {
      if (!may_have_one_more(holder, who)) return;
      uncount(peer);
      shares_.add(holder);
      peer.holder = std::move(holder);
    }
    peer.session->principal(who);
  }

  // The loop loses the peer, as in all losses: the caller is in the middle of something.
  void dismiss(PeerId id) {
    shared_->reactor.defer([weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->lose(id);
    });
  }

  // ZeroMQ drops what a client has received and not read when its connection goes. So the
  // connections stay until each client has read the bye behind the last answers, which it says by
  // one of its own or by going; one that had confirmed everything before needs no waiting for.
  void take_leave(Duration patience, std::function<void()> done) {
    left_ = std::move(done);
    for (const auto& [id, peer] : by_id_) {
      if (peer->session->backlog() > 0) awaited_.insert(id);
      peer->session->send({Kind::bye, 0, "", "", ""});
    }
    leave_ = shared_->reactor.after(awaited_.empty() ? 0 : patience, [this] { leave(); });
  }

  std::function<void(PeerId, const PeerInfo&)> on_peer;
  std::function<void(PeerId)> on_peer_lost;

 private:
  Listener& listener_of(ConnectionId connection) {
    return key_listener_ && connection >= kFirstWithKey ? *key_listener_ : *listener_;
  }

  Listener::Events listener_events() {
    Listener::Events events;
    events.on_message = [this](ConnectionId from, std::string_view bytes) {
      on_message(from, bytes);
    };
    events.on_closed = [this](ConnectionId connection) {
      if (const auto found = by_connection_.find(connection); found != by_connection_.end())
        lose(found->second->id);
    };
    events.on_some_closed = [this] { knock(); };
    events.on_foreign = [this] { ++shared_->counters.malformed; };
    events.on_too_slow = [this] { ++shared_->counters.too_slow; };
    return events;
  }

  std::size_t most_received() const {
    return std::min(shared_->options.max_message, shared_->options.max_received);
  }

  Status open_of(Network& network, const std::string& uri) {
    auto listener = network.listen(shared_->reactor, uri, listener_events());
    if (!listener) return tl::unexpected<Error>(listener.error());
    listener_ = std::move(*listener);
    uri_ = uri;
    return {};
  }

  Status open_ipc(const std::string& uri) {
    const std::string path = uri.substr(kIpc.size());
    if (auto state = probe_ipc(uri); !state && state.error().code != Errc::system)
      return tl::unexpected<Error>(state.error());
    auto lock = lock_path(path + ".lock");
    if (!lock) return tl::unexpected<Error>(lock.error());
    lock_ = std::move(*lock);
    auto listener = open_ipc_listener(shared_->reactor, path, shared_->options, listener_events());
    if (!listener) return tl::unexpected<Error>(listener.error());
    listener_ = std::move(*listener);
    uri_ = uri;
    return {};
  }

  Status open_tcp(const std::string& uri) {
    auto at = open_router_listener(shared_->reactor, uri, shared_->options, listener_events());
    if (!at) return tl::unexpected<Error>(at.error());
    listener_ = std::move(at->listener);
    uri_ = std::move(at->uri);
    return {};
  }

  void on_message(ConnectionId from, std::string_view bytes) {
    const auto alive = shared_from_this();
    auto envelope = decode(bytes);
    const std::size_t size = bytes.size();
    const auto found = by_connection_.find(from);
    const auto peer = found == by_connection_.end() ? nullptr : found->second;
    if (!envelope) return on_rubbish(from, peer.get(), envelope.error());
    if (envelope->kind == Kind::hello) return on_hello(from, *envelope, size);
    if (!peer) {
      if (envelope->kind != Kind::bye) tell(from, {Kind::bye, 0, "", "", ""});
      return listener_of(from).leave(from);
    }
    if (envelope->kind == Kind::bye) return lose(peer->id);
    if (envelope->kind == Kind::heartbeat && !peer->session->is_possible(*envelope)) {
      ++shared_->counters.malformed;  // it confirms what was never sent, and cannot be believed
      return lose(peer->id);
    }
    peer->session->receive(std::move(*envelope), size);
    // A client that has read something of this session has read all that came before it.
    if (peer->session->has_confirmed()) debts_.settle(from);
    if (peer->session->backlog() == 0) has_read_all(peer->id);
  }

  void on_rubbish(ConnectionId from, Peer* peer, const DecodeError& rubbish) {
    auto& counters = shared_->counters;
    ++(rubbish.error.code == Errc::unsupported ? counters.unknown_version : counters.malformed);
    if (!rubbish.request_id) return;
    const Envelope answer{Kind::error, *rubbish.request_id, "", "", encode_error(rubbish.error)};
    if (peer)
      peer->session->send(answer);
    else
      tell(from, answer);
  }

  void on_hello(ConnectionId from, const Envelope& hello, std::size_t bytes) {
    if (left_) return;
    const auto greeting = decode_greeting(hello.payload);
    if (!greeting) {
      ++shared_->counters.malformed;
      return;
    }
    if (const auto found = by_connection_.find(from); found != by_connection_.end())
      forget(found->second);
    if (debts_.of(from) > shared_->options.max_backlog) {  // a client that reads nothing
      ++shared_->counters.refused;
      return;
    }
    const auto& kept_for = shared_->options.kept_for;
    const std::string kind = greeting->name.substr(0, greeting->name.find(' '));
    const bool kept = std::find(kept_for.begin(), kept_for.end(), kind) != kept_for.end();
    const Principal who = listener_of(from).principal(from).value_or(Principal());
    const Holder holder = holder_of(who, from);
    if (const auto may = may_have_one_more(holder, who); !may)
      return refuse(from, hello.id, may.error());
    if (!has_place(kept) && !takes_place(holder, kept))
      return refuse(from, hello.id, no_place(places_));
    auto peer = std::make_shared<Peer>();
    peer->id = PeerId{++last_peer_};
    peer->connection = from;
    peer->kept_place = kept;
    peer->is_among_last = kept && places_ != 0 && by_id_.size() >= places_ - kept_;
    peer->since = monotonic_ms();
    peer->session = std::make_shared<Session>(
        shared_, peer->id,
        [this, raw = peer.get()](std::string out) { transmit(*raw, std::move(out)); });
    peer->session->principal(who);
    if (listener_of(from).keeps_unread()) peer->session->ask_for_marks();
    peer->holder = holder;
    shares_.add(holder);
    by_connection_[from] = peer;
    by_id_[peer->id] = peer;
    listener_of(from).admit(from);
    peer->session->peer_limit(greeting->max_message);
    peer->session->open();
    peer->session->count_received(bytes);
    peer->session->send_now({Kind::welcome, hello.id, "", "",
                             encode_greeting({shared_->options.name, getpid(), shared_->incarnation,
                                              most_received()})});
    if (on_peer) on_peer(peer->id, {greeting->name, greeting->pid, greeting->incarnation});
  }

  // The last places are kept for clients with names in Options::kept_for. A client that has only
  // claimed such a name makes room for the next one that does.
  bool has_place(bool kept) {
    if (places_ == 0 || by_id_.size() < places_ - kept_) return true;
    if (!kept) return false;
    if (by_id_.size() < places_) return true;
    const std::int64_t now = monotonic_ms();
    for (const auto& [id, peer] : by_id_)
      if (peer->kept_place && !peer->favoured && now - peer->since > kProof) {
        lose(PeerId(id));
        return true;
      }
    return false;
  }

  // If all places are taken, the newest connection of whoever has most goes. If it has only claimed
  // a kept place, that stays for those it is kept for, and the next connection goes too.
  bool takes_place(const Holder& holder, bool kept) {
    for (;;) {
      const Holder gives = shares_.gives_to(holder);
      if (!gives.counts()) return false;
      const auto newest = std::find_if(by_id_.rbegin(), by_id_.rend(), [&](const auto& one) {
        return one.second->holder == gives;
      });
      const bool was_among_last = newest->second->is_among_last;
      lose(PeerId(newest->first));
      if (kept || !was_among_last) return true;
    }
  }

  // The other side closes once it has read why.
  void refuse(ConnectionId from, std::uint64_t hello, const Error& why) {
    ++shared_->counters.refused;
    tell(from, {Kind::error, hello, "", "", encode_error(why)});
    listener_of(from).leave(from);
  }

  // A process of this machine can connect from any address of the loopback, also to another address
  // of the machine: all of them count as one.
  Holder holder_of(const Principal& who, ConnectionId connection) {
    if (!shared_->options.for_everybody) return {};
    if (const auto user = shared_->bounded_user(who)) return {false, std::to_string(*user)};
    if (who.kind != Principal::Kind::key || !who.name.starts_with(kStranger)) return {};
    std::string address = listener_of(connection).address(connection);
    return {true, address.starts_with("127.") ? "127.0.0.1" : std::move(address)};
  }
  Status may_have_one_more(const Holder& holder, const Principal& who) const {
    const std::size_t most = shares_.most_of_one();
    if (!holder.counts() || shares_.of(holder) < most) return {};
    auto why = holder.is_stranger ? no_more_from(holder.name, most) : no_more_of_user(most);
    const Principal address{Principal::Kind::unknown, 0, 0, 0, holder.name};
    shared_->tell_bound(holder.is_stranger ? address : who, "hello", why);
    return tl::unexpected<Error>(std::move(why));
  }

  // The peer's connection counts for its user no more.
  void uncount(Peer& peer) { shares_.remove(std::exchange(peer.holder, Holder())); }

  // The loop deals with losses: a sender must not find its own state changed by sending.
  void transmit(Peer& peer, std::string bytes) {
    if (closed_ || peer.given_up) return;
    Listener& listener = listener_of(peer.connection);
    const bool bounded = listener.unsent(peer.connection).has_value();
    const std::size_t unread = peer.session->backlog() + debts_.of(peer.connection);
    const bool too_slow = !bounded && unread > shared_->options.max_backlog;
    if (!too_slow && listener.send(peer.connection, std::move(bytes))) return;
    if (too_slow) {
      ++shared_->counters.too_slow;
      peer.last_word = encode_error(too_much_unread(unread, shared_->options.max_backlog));
    }
    peer.given_up = true;
    dismiss(peer.id);
  }

  // Forgets a peer that has said hello again over the same connection.
  void forget(const std::shared_ptr<Peer> peer) {
    by_id_.erase(peer->id);
    by_connection_.erase(peer->connection);
    uncount(*peer);
    leave_debt(peer->connection, peer->session->principal(), peer->session->backlog());
    peer->session->kill({Errc::disconnected, "the peer went away", ""});
    if (on_peer_lost) on_peer_lost(peer->id);
    has_read_all(peer->id);
  }

  void lose(PeerId id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;
    const auto alive = shared_from_this();
    const auto peer = found->second;
    forget(peer);
    if (closed_) return;
    // Even a peer that has left too much unread is told, once: there is no other session then.
    tell_anyway(peer->connection, {Kind::bye, 0, "", "", peer->last_word});
    listener_of(peer->connection).leave(peer->connection);
  }

  // Sends outside of any session. A connection that has left too much unread is sent no more.
  void tell(ConnectionId to, const Envelope& what) {
    if (debts_.of(to) <= shared_->options.max_backlog) tell_anyway(to, what);
  }
  void tell_anyway(ConnectionId to, const Envelope& what) {
    std::string bytes = encode(what);
    leave_debt(to, {}, bytes.size());
    listener_of(to).send(to, std::move(bytes));
  }

  void leave_debt(ConnectionId connection, const Principal& who, std::size_t bytes) {
    if (closed_ || !listener_of(connection).keeps_unread()) return;
    debts_.add(connection, who, bytes);
    listener_of(connection).remember(connection);
    debts_are_due_ = true;
  }

  // Settles debts where a connection may have ended. Losses tell of connections with a session.
  void settle_debts() {
    if (!std::exchange(debts_are_due_, false)) return;
    const std::string bye = encode({Kind::bye, 0, "", "", ""});
    const std::int64_t now = monotonic_ms();
    for (const ConnectionId connection : debts_.connections()) {
      if (by_connection_.contains(connection)) continue;
      if (!debts_.may_ask(connection, now)) {
        debts_are_due_ = true;
        continue;
      }
      Listener& listener = listener_of(connection);
      if (listener.is_there(connection, bye)) {
        debts_.add(connection, {}, bye.size());
        continue;
      }
      listener.close(connection);
      debts_.settle(connection);
    }
  }

  void has_read_all(PeerId id) {
    if (awaited_.erase(id) == 0 || !awaited_.empty()) return;
    leave_ = shared_->reactor.after(0, [this] { leave(); });
  }

  void leave() {
    leave_.cancel();
    shared_->counters.unread += awaited_.size();
    awaited_.clear();
    if (const auto done = std::exchange(left_, [] {})) done();
  }

  // Nothing was read while this process was stopped or got no processor: a peer's silence counts
  // from when it reads again.
  void tick() {
    const std::int64_t now = monotonic_ms();
    if (now - ticked_ > shared_->options.peer_timeout / 2) listens_since_ = now;
    ticked_ = now;
    std::vector<PeerId> silent;
    for (const auto& [id, peer] : by_id_) {
      const std::int64_t heard = std::max(peer->session->last_heard(), listens_since_);
      if (now - heard > shared_->options.peer_timeout) silent.push_back(id);
      peer->session->keep_alive(now - shared_->options.heartbeat / 2);
    }
    for (const PeerId id : silent) lose(id);
    settle_debts();
  }

  void knock() {
    debts_are_due_ = true;
    const std::int64_t now = monotonic_ms();
    for (const auto& [id, peer] : by_id_) peer->session->keep_alive(now);
  }

  std::shared_ptr<SessionShared> shared_;
  std::shared_ptr<Session> nobody_;  // answers for peers that are gone
  UniqueFd lock_;                    // of its path
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<Listener> key_listener_;  // of also_listen(); nullptr: there is none
  std::string uri_;
  bool closed_ = false;
  std::size_t places_ = 0;  // for peers; 0: without bound
  std::size_t kept_ = 0;    // of these, for Options::kept_for
  std::uint64_t last_peer_ = 0;
  std::int64_t ticked_ = monotonic_ms(), listens_since_ = 0;  // monotonic ms
  std::unordered_map<ConnectionId, std::shared_ptr<Peer>> by_connection_;
  std::map<PeerId, std::shared_ptr<Peer>> by_id_;
  UnreadBytes debts_{shared_};
  bool debts_are_due_ = false;  // some of them may be of connections that have ended
  Shares shares_;               // of the connections that count for a user
  std::set<PeerId> awaited_;    // since take_leave(): who may not have read all yet
  std::function<void()> left_;  // set: no peers are taken any more
  Subscription ticks_, leave_;
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

Result<std::string> Server::also_listen(UniqueFd socket, Admission admission) {
  return impl_->also_listen(std::move(socket), std::move(admission));
}
const std::string& Server::uri() const {
  return impl_->uri();
}
void Server::on_request(RequestHandler handler) {
  impl_->shared().serve(std::move(handler));
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
void Server::prove(PeerId peer, const Principal& who) {
  impl_->prove(peer, who);
}
Principal Server::principal_of(PeerId peer) const {
  return impl_->session_of(peer).principal();
}
void Server::favour(PeerId peer) {
  impl_->favour(peer);
}
void Server::dismiss(PeerId peer) {
  impl_->dismiss(peer);
}
void Server::take_leave(Duration patience, std::function<void()> done) {
  impl_->take_leave(patience, std::move(done));
}
Counters Server::counters() const {
  return impl_->shared().counters;
}

}  // namespace holon::transport
