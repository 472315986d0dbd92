#include "transport/zmtp/ipc_listener.hpp"

// ipc_listener.cpp - a listening unix socket, and ZMTP spoken by hand on what it accepts.
//
// libzmq aborts the process when accept() finds no descriptor left (its issue 1306), collects a
// message of many parts whole, keeps what a peer does not read, and cannot close one peer's
// connection. So the server's end of ipc:// is made here; the other end is an IpcLine or any ZeroMQ
// DEALER.
//
// What bounds the cost of a connection:
// - Descriptors: no more connections than the process may have, less some kept for files. Some of
//   them are for guests, which have not introduced themselves. While those do not suffice, the
//   process (of other users: the user) with most guests loses its oldest one; where that one has
//   come only just now, the newcomer of the same process gets one of a few places to wait in, and
//   whoever has waited there longest loses its own. A connection that has introduced itself keeps
//   its place.
// - Time: a turn reads once from a connection, and then serves for kServe at most, in the order of
//   FairQueue: who has used least goes first.
// - Memory: a connection is not read while a message of it waits to be served, and not served while
//   it leaves kChoke bytes of answers unread. What all have begun and not completed, and what all
//   are owed, is bounded too: the one with most is closed. What favoured connections are owed is
//   counted by itself, so that neither they nor the others pay for each other.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/session.hpp"

namespace holon::transport {
namespace {

constexpr int kListenBacklog = 1024;
constexpr int kAcceptsPerTurn = 128;
constexpr int kEventsPerTurn = 512;
constexpr std::int64_t kRead = 4'000;        // us of one turn for reading
constexpr std::int64_t kServe = 4'000;       // us of one turn for requests
constexpr std::int64_t kQuantum = 1'000;     // us at a stretch for one connection
constexpr std::size_t kChoke = 8 << 20;      // bytes unread at which it is not served ...
constexpr std::size_t kRelief = 2 << 20;     // ... until so few are left
constexpr std::size_t kMaxBegun = 64 << 20;  // bytes of all messages begun, not completed
constexpr std::size_t kFavour = 2;           // times what all others may be owed
constexpr std::size_t kMaxConnections = 10'000;
constexpr std::size_t kShareOfUnproved = 8;  // one of so many connections is for guests
constexpr std::size_t kShareOfWaiting = 16;  // the same, for those that wait for such a place
constexpr std::size_t kMostWaiting = 32;
constexpr std::size_t kKeptDescriptors = 40;    // for files, pipes and those who wait
constexpr std::int64_t kStuck = 10'000;         // ms in which who is not served takes something
constexpr std::int64_t kLeave = 60'000;         // ms for the other side to close what we left
constexpr std::int64_t kLinger = 1'000;         // ms for the last answers of a server that ends
constexpr Duration kTick = 500;                 // ms
constexpr std::size_t kFlushAbove = 128 << 10;  // bytes: written at once, not at the turn's end

std::int64_t monotonic_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

std::size_t most_connections() {
  const std::size_t left = free_descriptors();
  return std::clamp(left > kKeptDescriptors ? left - kKeptDescriptors : 0, IpcListener::kFewest,
                    kMaxConnections);
}

// The events to be told of this connection follow from its state.
std::uint32_t events_for(const IpcConnection& c) {
  std::uint32_t wanted = c.out.size() > 0 && !c.unflushed ? EPOLLOUT : 0U;
  if (c.left || (!c.has_message && !c.choked))
    wanted |= EPOLLIN;
  else if (c.choked)
    wanted |= EPOLLRDHUP;
  if (c.ended) wanted &= ~static_cast<std::uint32_t>(EPOLLIN);
  return wanted;
}

}  // namespace

// ---- listening ----

Status IpcListener::open(const std::string& path) {
  if (auto bound = bind(path); !bound) return bound;
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("cannot make an epoll instance", path);
  most_ = most_connections();
  most_unproved_ = std::max<std::size_t>(most_ / kShareOfUnproved, 2);
  most_waiting_ = std::clamp<std::size_t>(most_ / kShareOfWaiting, 1, kMostWaiting);
  watch_listener(true);
  auto readable = reactor_.on_fd(epoll_.get(), kReadable, [this](unsigned) { on_ready(); });
  if (!readable) return tl::unexpected<Error>(readable.error());
  readable_ = std::move(*readable);
  flushing_ = reactor_.before_waiting([this] {
    const auto alive = shared_from_this();  // flush_all() may tell of an end, and end the server
    flush_all();
    watch_all();
  });
  ticks_ = reactor_.every(kTick, [this] { tick(); });
  return {};
}

// A socket that is there is a dead process's: the caller holds the path's lock.
Status IpcListener::bind(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Errc::invalid_argument, "too long for a socket", path);
  path.copy(address.sun_path, path.size());
  listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) return system_error("cannot make a socket", path);
  unlink(path.c_str());
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error("cannot listen", path);
  path_ = path;
  // Nobody can connect before listen().
  chmod(path.c_str(), options_.for_everybody ? 0666 : 0600);
  if (listen(listener_.get(), kListenBacklog) != 0) return system_error("cannot listen", path);
  return {};
}

void IpcListener::watch_listener(bool wanted) {
  if (wanted == listening_ || !listener_) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;  // no connection has this number
  const int operation = wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
  if (epoll_ctl(epoll_.get(), operation, listener_.get(), &event) == 0) listening_ = wanted;
}

void IpcListener::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn && !closed_; ++i) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of descriptors all the same: those that wait are looked at again at the next tick.
      if (errno != EAGAIN && errno != EWOULDBLOCK) watch_listener(false);
      return;
    }
    take(std::move(socket));
  }
}

void IpcListener::take(UniqueFd socket) {
  Principal who;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
    who = {Principal::Kind::ipc, peer.uid, peer.gid, peer.pid};
  const bool full = unproved_count_ >= most_unproved_ ||
                    connections_.size() - waiting_.size() >= most_ - most_waiting_;
  const bool waits = full && !make_room_for(who);
  if (waits && waiting_.size() >= most_waiting_ && !turn_away(*waiting_.begin()->second)) return;
  auto connection = std::make_unique<IpcConnection>(
      ++last_id_, std::move(socket), std::min(options_.max_message, options_.max_received));
  IpcConnection& c = *connection;
  c.who = who;
  c.group = group_of(who);
  c.since = monotonic_ms();
  epoll_event event{};
  event.events = c.waits_for = EPOLLIN;
  event.data.u64 = c.id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, c.fd.get(), &event) != 0) return;
  queue_.join(c.id, c.group);
  c.waits = waits;
  if (waits) {
    waiting_.emplace(c.id, &c);
  } else {
    unproved_[c.group].emplace(c.id, &c);
    ++unproved_count_;
  }
  connections_.emplace(c.id, std::move(connection));
  push(c, Zmtp::greeting());
  flush(c);
}

// ---- reading ----

IpcConnection* IpcListener::find(ConnectionId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

void IpcListener::on_ready() {
  const auto alive = shared_from_this();
  std::array<epoll_event, kEventsPerTurn> events;
  const int n = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  const auto is_listener = [](const epoll_event& e) { return e.data.u64 == 0; };
  if (std::any_of(events.begin(), events.begin() + std::max(n, 0), is_listener)) accept_some();
  // Connections that have used least are read first; it matters only if time is short.
  const auto used = [this](const epoll_event& e) { return queue_.used(e.data.u64); };
  std::sort(events.begin(), events.begin() + std::max(n, 0),
            [&](const auto& a, const auto& b) { return used(a) < used(b); });
  const std::int64_t until = monotonic_us() + kRead;
  for (int i = 0; i < n && !closed_; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    IpcConnection* c = find(event.data.u64);
    if (c == nullptr || c->doomed) continue;
    if (event.events & EPOLLOUT) flush(*c);
    const bool is_over = (event.events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    // The kernel may not know yet that the connection is to be read again. Bytes that its peer
    // wrote before it closed are read first.
    const bool is_to_be_read = (events_for(*c) & EPOLLIN) != 0;
    if ((event.events & EPOLLIN) != 0 || (is_over && is_to_be_read)) {
      read(*c);
    } else if (is_over) {
      // Nothing is read of it now. If it has a message to be served, its end is seen after that.
      if (!c->has_message || c->choked) doom(*c);
    }
    if (monotonic_us() > until) break;  // level-triggered: the rest is told again
  }
  bound_begun();
  bury();
}

void IpcListener::read(IpcConnection& c) {
  const ssize_t n = recv(c.fd.get(), scratch_.data(), scratch_.size(), 0);
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) doom(c);
    return;
  }
  if (n == 0) {
    c.ended = true;
    return settle(c);
  }
  if (c.left) return;  // read only to see it end
  if (c.at > 0) {
    c.in.erase(0, c.at);
    c.at = 0;
  }
  const auto size = static_cast<std::size_t>(n);
  // The buffer doubles as bytes come, and does not grow by what a header claims.
  c.in.append(scratch_.data(), size);
  begun_ += size;
  advance(c);
}

// Deals with what is at the front until a message is there, or bytes are missing.
void IpcListener::advance(IpcConnection& c) {
  while (!c.has_message && !c.doomed) {
    const auto rest = std::string_view(c.in).substr(c.at);
    const Zmtp::Step step = c.zmtp.next(rest);
    if (step.what == Zmtp::What::more) break;
    if (step.what == Zmtp::What::message) {
      c.has_message = true;
      c.message_at = static_cast<std::size_t>(step.body.data() - rest.data());
      c.message_size = step.body.size();
      c.step = step.consumed;
      break;
    }
    if (step.what == Zmtp::What::broken) return doom(c);
    std::string answer;
    if (step.what == Zmtp::What::ready) answer = Zmtp::ready_command();
    if (step.what == Zmtp::What::ping) answer = Zmtp::pong(step.body);
    c.at += step.consumed;
    begun_ -= step.consumed;
    if (step.what == Zmtp::What::foreign) events_.on_foreign();
    if (closed_) return;
    if (answer.empty() || c.mute) continue;
    push(c, std::move(answer));
    flush(c);
    bound_unsent(c);
  }
  settle(c);
}

// Bounds, over all connections, what was kept of messages that are not complete.
void IpcListener::bound_begun() {
  while (begun_ > kMaxBegun) {
    IpcConnection* const largest =
        with_most([](const IpcConnection& c) { return c.favoured ? 0 : c.begun(); });
    if (largest == nullptr) return;
    doom(*largest);
  }
}

// ---- serving ----

void IpcListener::serve_soon() {
  if (std::exchange(serving_, true)) return;
  reactor_.defer([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->serve();
  });
}

void IpcListener::serve() {
  const auto alive = shared_from_this();
  const std::int64_t until = monotonic_us() + kServe;
  while (!closed_) {
    const auto id = queue_.next();
    if (!id) break;
    serve_one(*find(*id));
    if (closed_ || monotonic_us() > until) break;
  }
  serving_ = false;  // not before: what is left is for the next turn, when others have been read
  if (closed_) return;
  bury();
  if (!queue_.empty()) again_ = reactor_.after(0, [this] { serve_soon(); });
}

// REQUIRES: the connection has a message and is not choked.
void IpcListener::serve_one(IpcConnection& first) {
  const ConnectionId id = first.id;
  const std::int64_t begin = monotonic_us();
  for (IpcConnection* c = &first; c != nullptr && !c->doomed && c->has_message && !c->choked;
       c = find(id)) {
    c->has_message = false;
    c->serving = true;
    const std::size_t step = c->step;
    const auto message = std::string_view(c->in).substr(c->at + c->message_at, c->message_size);
    events_.on_message(id, message);
    if (closed_) return;
    c = find(id);
    if (c == nullptr) return;
    c->serving = false;
    if (c->doomed || c->left) {  // by what the message said; nothing of it is kept
      settle(*c);
      break;
    }
    c->at += step;
    begun_ -= step;
    advance(*c);
    if (closed_ || monotonic_us() - begin > kQuantum) break;
  }
  queue_.charge(id, monotonic_us() - begin + 1);
}

// Updates whether its message is served, and the events it waits for, to its state.
void IpcListener::settle(IpcConnection& c) {
  if (c.doomed || c.serving) return;
  if (c.at == c.in.size()) {
    c.in.clear();
    c.at = 0;
    if (c.in.capacity() > kReadAtOnce) c.in.shrink_to_fit();
  }
  if (c.ended && (!c.has_message || c.choked)) return doom(c);
  if (c.choked && c.out.size() < kRelief) c.choked = false;
  if (!c.favoured && c.out.size() > kChoke && !std::exchange(c.choked, true))
    c.progress = monotonic_ms();
  const bool ready = c.has_message && !c.choked;
  queue_.set_ready(c.id, ready);
  if (ready) serve_soon();
  if (events_for(c) != c.waits_for && !std::exchange(c.unwatched, true)) unwatched_.push_back(c.id);
}

// Once a turn, before the kernel is asked again: a message that is read and served in one turn
// leaves its connection waiting for the same as before, which costs no system call.
void IpcListener::watch_all() {
  for (const ConnectionId id : std::exchange(unwatched_, {})) {
    IpcConnection* c = find(id);
    if (c == nullptr) continue;
    c->unwatched = false;
    const std::uint32_t wanted = events_for(*c);
    if (c->doomed || wanted == c->waits_for) continue;
    epoll_event event{};
    event.events = c->waits_for = wanted;
    event.data.u64 = id;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, c->fd.get(), &event);
  }
}

// ---- writing ----

bool IpcListener::send(ConnectionId id, std::string bytes) {
  IpcConnection* c = find(id);
  if (c == nullptr || c->doomed || closed_) return false;
  if (c->mute) return true;
  std::string header = Zmtp::frame_header(bytes.size());
  push(*c, std::move(header), std::move(bytes));
  if (!std::exchange(c->unflushed, true)) unflushed_.push_back(id);
  if (c->out.size() > kFlushAbove) flush(*c);
  bound_unsent(*c);
  return !c->doomed;
}

// Bytes owed to all connections of the kind of `c`, favoured or not.
std::size_t& IpcListener::unsent_with(const IpcConnection& c) {
  return c.favoured ? unsent_favoured_ : unsent_;
}

void IpcListener::push(IpcConnection& c, std::string header, std::string bytes) {
  unsent_with(c) += header.size() + bytes.size();
  c.out.add(std::move(header), std::move(bytes));
}

void IpcListener::bound_unsent(IpcConnection& sender) {
  if (!sender.favoured && sender.out.size() > options_.max_backlog) give_up(sender);
  const bool favoured = sender.favoured;
  const std::size_t most = options_.max_unsent * (favoured ? kFavour : 1);
  while (unsent_with(sender) > most) {
    IpcConnection* const largest = with_most([favoured](const IpcConnection& c) {
      return c.favoured == favoured ? c.out.size() : std::size_t{0};
    });
    if (largest == nullptr) return;
    give_up(*largest);
  }
}

void IpcListener::flush(IpcConnection& c) {
  if (c.doomed) return;
  const std::size_t before = c.out.size();
  const bool open = c.out.write_to(c.fd.get());
  unsent_with(c) -= before - c.out.size();
  if (c.choked && c.out.size() < before) c.progress = monotonic_ms();
  if (!open) silence(c);
  settle(c);
}

void IpcListener::flush_all() {
  if (unflushed_.empty() && doomed_.empty()) return;
  const auto alive = shared_from_this();
  for (const ConnectionId id : std::exchange(unflushed_, {})) {
    IpcConnection* c = find(id);
    if (c == nullptr || c->doomed) continue;
    c->unflushed = false;
    flush(*c);
  }
  bury();
}

// ---- ends ----

void IpcListener::silence(IpcConnection& c) {
  c.mute = true;
  unsent_with(c) -= c.out.size();
  c.out.clear();
}

// Gives up a connection that does not take what it is sent. A ZeroMQ socket that its owner does not
// read does not see the end of its connection, and blocks its owner for ever when it cannot send
// any more: what the peer still says is read and thrown away until it closes.
void IpcListener::give_up(IpcConnection& c) {
  events_.on_too_slow();
  silence(c);
  c.choked = c.has_message = false;
  queue_.set_ready(c.id, false);
  reactor_.defer([weak = weak_from_this(), id = c.id] {
    const auto self = weak.lock();
    if (!self || self->closed_ || self->find(id) == nullptr) return;
    self->events_.on_closed(id);
    if (!self->closed_) self->leave(id);
  });
}

// Closes from the loop, not from inside a call that may be about it. It costs nothing more.
void IpcListener::doom(IpcConnection& c) {
  if (std::exchange(c.doomed, true)) return;
  doomed_.push_back(c.id);
  queue_.set_ready(c.id, false);
  begun_ -= c.begun();
  unsent_with(c) -= c.out.size();
  c.in = {};
  c.out.clear();
  c.at = 0;
  c.has_message = false;
  reactor_.defer([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->bury();
  });
}

void IpcListener::bury() {
  const auto alive = shared_from_this();
  while (!doomed_.empty() && !closed_) {
    const ConnectionId id = doomed_.back();
    doomed_.pop_back();
    const IpcConnection* c = find(id);
    if (c == nullptr) continue;
    const bool tell = !c->left;
    drop(id);
    if (tell) events_.on_closed(id);
  }
}

void IpcListener::drop(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  IpcConnection& c = *found->second;
  begun_ -= c.begun();
  unsent_with(c) -= c.out.size();
  queue_.leave(id);
  forget_unproved(c);
  connections_.erase(found);
  watch_listener(true);
}

void IpcListener::leave(ConnectionId id) {
  IpcConnection* c = find(id);
  if (c == nullptr || c->left || c->doomed) return;
  c->left = true;
  c->has_message = false;
  c->since = monotonic_ms();
  begun_ -= c->begun();
  c->at = c->in.size();  // settle() gives the memory back
  if (c->admitted) {
    unproved_[c->group].emplace(id, c);
    ++unproved_count_;
  }
  flush(*c);
}

void IpcListener::admit(ConnectionId id) {
  IpcConnection* c = find(id);
  if (c == nullptr || c->left || std::exchange(c->admitted, true)) return;
  forget_unproved(*c);
}

void IpcListener::favour(ConnectionId id) {
  IpcConnection* c = find(id);
  if (c == nullptr || c->doomed || c->favoured) return;
  unsent_ -= c->out.size();
  unsent_favoured_ += c->out.size();
  c->favoured = true;
  queue_.favour(id);
  c->choked = false;
  settle(*c);
}

std::optional<Principal> IpcListener::principal(ConnectionId id) const {
  const IpcConnection* c = find(id);
  return c == nullptr ? std::nullopt : std::optional(c->who);
}

std::optional<std::size_t> IpcListener::unsent(ConnectionId id) const {
  const IpcConnection* c = find(id);
  return c == nullptr ? 0 : c->out.size();
}

void IpcListener::tick() {
  const std::int64_t now = monotonic_ms();
  std::vector<ConnectionId> over;
  for (const auto& [pid, guests] : unproved_)
    for (const auto& [id, c] : guests)
      if (now - c->since > (c->left ? kLeave : options_.introduction)) over.push_back(id);
  for (const ConnectionId id : over) drop(id);
  for (const auto& [id, c] : Unproved(waiting_))
    if (now - c->since > kMoment) turn_away(*c);
  for (const auto& [id, c] : connections_)
    if (c->choked && !c->doomed && now - c->progress >= kStuck) give_up(*c);
  watch_listener(true);
}

void IpcListener::shut() {
  if (std::exchange(closed_, true)) return;
  ticks_.cancel();
  again_.cancel();
  readable_.cancel();
  flushing_.cancel();
  listener_.reset();
  if (!path_.empty()) unlink(path_.c_str());
  const std::int64_t until = monotonic_ms() + kLinger;
  for (const auto& [id, c] : connections_) {
    for (flush(*c); c->out.size() > 0 && !c->doomed; flush(*c)) {
      pollfd writable{c->fd.get(), POLLOUT, 0};
      const std::int64_t left = until - monotonic_ms();
      if (left <= 0 || poll(&writable, 1, static_cast<int>(left)) <= 0) break;
    }
  }
  connections_.clear();
}

Result<std::shared_ptr<Listener>> open_ipc_listener(Reactor& reactor, const std::string& path,
                                                    const Options& options,
                                                    Listener::Events events) {
  auto listener = std::make_shared<IpcListener>(reactor, options, std::move(events));
  if (auto opened = listener->open(path); !opened) return tl::unexpected<Error>(opened.error());
  return std::shared_ptr<Listener>(std::move(listener));
}

}  // namespace holon::transport
