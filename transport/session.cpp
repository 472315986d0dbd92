// session.cpp - the request/answer state machine of one connection's end, without any socket.
#include "transport/session.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <random>
#include <utility>

#include "transport/bounds.hpp"

namespace holon::transport {
namespace {

constexpr std::uint64_t kConfirmEvery = 1 << 20;  // bytes received between two confirmations
constexpr std::size_t kEnvelopeRoom =
    64;  // bytes an envelope adds to topic, path and payload at most
// Bytes of the open requests of one client, and of all together.
constexpr std::size_t kMostOpenBytes = 32 << 20, kMostOpenBytesOfAll = 128 << 20;
// Bounds of one user, even if all together have all they may: this share of max_open; bytes.
constexpr std::size_t kShareOfFloor = 100, kFloorOfBytes = 256 << 10;
// Bytes of unread answers, over all connections of one user of other machines, from which on no
// more requests of that user are served.
constexpr std::size_t kMostOwedToUser = 64 << 20;

}  // namespace

std::int64_t monotonic_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

std::uint64_t new_incarnation() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

RequestState::~RequestState() {
  if (done || id == 0) return;
  if (const auto alive = session.lock())
    alive->answer(id, Kind::error,
                  encode_error({Errc::system,
                                "request \"" + topic + "\" was dropped without an answer", ""}));
}

Request::Request(std::shared_ptr<RequestState> state) : state_(std::move(state)) {}

namespace {
const std::string kEmpty;  // referred to by an empty handle's accessors
}

const std::string& Request::topic() const {
  return state_ ? state_->topic : kEmpty;
}
const std::string& Request::path() const {
  return state_ ? state_->path : kEmpty;
}
const std::string& Request::payload() const {
  return state_ ? state_->payload : kEmpty;
}
void Request::rewrite(std::string payload) const {
  if (state_) state_->payload = std::move(payload);
}
PeerId Request::peer() const {
  return state_ ? state_->peer : PeerId{};
}
Principal Request::principal() const {
  return state_ ? state_->principal : Principal{};
}
bool Request::done() const {
  return !state_ || state_->done;
}

std::size_t Request::backlog() const {
  const auto session = state_ ? state_->session.lock() : nullptr;
  return session ? session->backlog() : 0;
}

void Request::on_cancel(std::function<void()> callback) const {
  if (state_ && !state_->done) state_->on_cancel = std::move(callback);
}

void Request::on_failure(std::function<void(const Error&)> callback) const {
  if (state_ && !state_->done) state_->on_failure = std::move(callback);
}

namespace {

void answer(RequestState* state, Kind kind, std::string payload) {
  if (!state || state->done) return;
  if (kind != Kind::chunk) {
    state->done = true;
    state->on_cancel = nullptr;
    state->on_failure = nullptr;
  }
  const auto session = state->session.lock();
  if (session && state->id != 0) session->answer(state->id, kind, std::move(payload));
}

}  // namespace

void Request::reply(std::string payload) const {
  answer(state_.get(), Kind::response, std::move(payload));
}
void Request::send(std::string chunk) const {
  answer(state_.get(), Kind::chunk, std::move(chunk));
}
void Request::end() const {
  answer(state_.get(), Kind::end, "");
}
void Request::fail(Error error) const {
  if (state_ && !state_->done && state_->on_failure)
    std::exchange(state_->on_failure, nullptr)(error);
  answer(state_.get(), Kind::error, encode_error(error));
}

Session::Session(std::shared_ptr<SessionShared> shared, PeerId peer, Transmit transmit)
    : shared_(std::move(shared)),
      peer_(peer),
      transmit_(std::move(transmit)),
      limit_(shared_->options.max_message),
      last_heard_(monotonic_ms()) {}

Session::~Session() {
  forget_incoming();
  shared_->owe_less(principal_, backlog());
}

// Bytes owed at the socket of this machine are bounded by its listener, which sees what the kernel
// takes.
void SessionShared::owe(const Principal& who, std::size_t bytes) {
  if (who.kind == Principal::Kind::munge && bytes > 0) owed_to_user[who.uid] += bytes;
}

void SessionShared::owe_less(const Principal& who, std::size_t bytes) {
  if (who.kind != Principal::Kind::munge || bytes == 0) return;
  const auto found = owed_to_user.find(who.uid);
  found->second -= bytes;
  if (found->second == 0) owed_to_user.erase(found);
}

void Session::principal(const Principal& who) {
  shared_->owe_less(principal_, backlog());
  principal_ = who;
  shared_->owe(principal_, backlog());
}

void Session::peer_limit(std::size_t max_message) {
  limit_ = max_message == 0 ? shared_->options.max_message
                            : std::min(shared_->options.max_message, max_message);
}

void Session::flush() {
  for (auto& envelope : std::exchange(unsent_, {})) put_on_wire(std::move(envelope));
}

void Session::lose(const Error& why) {
  open_ = false;
  shared_->owe_less(principal_, backlog());
  sent_ = confirmed_ = received_ = reported_ = 0;
  if (marks_) marks_.emplace();
  last_heard_ = monotonic_ms();
  std::vector<std::uint64_t> lost;
  for (const auto& [id, outgoing] : outgoing_)
    if (outgoing.sent) lost.push_back(id);
  std::sort(lost.begin(), lost.end());
  drop_incoming();
  for (const std::uint64_t id : lost) finish(id, Kind::error, tl::unexpected<Error>(why));
}

void Session::kill(const Error& why) {
  dead_ = true;
  why_dead_ = why;
  for (const auto& envelope : std::exchange(unsent_, {}))
    if (const auto found = outgoing_.find(envelope.id); found != outgoing_.end())
      found->second.sent = true;
  lose(why);
}

std::unordered_map<std::uint64_t, Session::Incoming> Session::forget_incoming() {
  for (const auto& [id, request] : incoming_) uncount(request);
  return std::exchange(incoming_, {});
}

void Session::uncount(const Incoming& request) {
  --shared_->open_requests;
  open_bytes_ -= request.bytes;
  shared_->open_bytes -= request.bytes;
  if (!request.user) return;
  const auto of_user = shared_->open_by_user.find(*request.user);
  of_user->second.bytes -= request.bytes;
  if (--of_user->second.requests == 0) shared_->open_by_user.erase(of_user);
}

// Over a network a peer may be another machine's root, or an account with our own number.
std::optional<std::uint32_t> SessionShared::bounded_user(const Principal& who) const {
  if (!options.for_everybody) return std::nullopt;
  if (who.kind == Principal::Kind::munge) return who.uid;
  const bool is_other = who.kind == Principal::Kind::ipc && who.uid != 0 && who.uid != own_user;
  return is_other ? std::optional(who.uid) : std::nullopt;
}

void SessionShared::tell_bound(const Principal& who, std::string_view topic,
                               const Error& why) const {
  if (on_request)
    (*on_request)(
        request_of(who, std::string(kBoundReached), std::string(topic) + ": " + why.what));
}

Request request_of(const Principal& who, std::string topic, std::string payload) {
  auto state = std::make_shared<RequestState>();
  state->principal = who;
  state->topic = std::move(topic);
  state->payload = std::move(payload);
  return Request(std::move(state));
}

void Session::drop_incoming() {
  const auto incoming = forget_incoming();
  std::vector<std::pair<std::uint64_t, std::shared_ptr<RequestState>>> open;
  for (const auto& [id, request] : incoming)
    if (auto state = request.state.lock()) open.emplace_back(id, std::move(state));
  std::sort(open.begin(), open.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [id, state] : open) {
    if (std::exchange(state->done, true)) continue;
    if (const auto callback = std::exchange(state->on_cancel, nullptr)) callback();
  }
}

void Session::receive(Envelope envelope, std::size_t bytes) {
  const auto alive = shared_from_this();  // callbacks may drop the last other owner
  count_received(bytes);
  switch (envelope.kind) {
    case Kind::request:
      return on_incoming_request(std::move(envelope));
    case Kind::response:
    case Kind::error:
    case Kind::chunk:
    case Kind::end:
      return on_answer(std::move(envelope));
    case Kind::cancel:
      return on_cancel(envelope.id);
    case Kind::heartbeat:
      return on_heartbeat(envelope);
    case Kind::hello:
    case Kind::welcome:
    case Kind::bye:
      return;  // the socket's owner has dealt with them
  }
}

void Session::count_received(std::size_t bytes) {
  last_heard_ = monotonic_ms();
  received_ += bytes;
  if (open_ && received_ - reported_ >= kConfirmEvery) send_heartbeat();
}

bool Session::is_possible(const Envelope& heartbeat) const {
  const bool is_known = !marks_ || heartbeat.payload.empty() || marks_->is_known(heartbeat.payload);
  return heartbeat.id <= sent_ && is_known;
}

// Sends a mark back at once. Only a client does: a server would send whatever its clients like.
void Session::on_heartbeat(const Envelope& heartbeat) {
  if (peer_.value() == 0 && !heartbeat.payload.empty()) send_heartbeat(heartbeat.payload);
  const std::uint64_t read = marks_ ? marks_->take(heartbeat.payload).value_or(0) : heartbeat.id;
  if (read > sent_ || read <= confirmed_) return;
  shared_->owe_less(principal_, static_cast<std::size_t>(read - confirmed_));
  confirmed_ = read;
}

void Session::send_heartbeat(std::string mark) {
  if (!open_) return;
  reported_ = received_;
  put_out(encode({Kind::heartbeat, received_, "", "", std::move(mark)}));
}

void Session::send_mark() {
  std::string mark = ReadReceipts::fresh();
  send_heartbeat(mark);
  marks_->add(std::move(mark), sent_);
}

void Session::keep_alive(std::int64_t since) {
  if (!open_ || last_sent_ > since) return;
  // Even a few bytes have to be confirmed at some time.
  if (marks_ && !marks_->is_awaited()) return send_mark();
  send_heartbeat();
}

// Requests that wait for an answer are kept, as they came. Texts are short: a flood of requests is
// answered by a flood of these.
std::optional<std::string> Session::too_many(const Envelope& request) const {
  if (request.id == 0 || favoured_) return std::nullopt;
  const Options& options = shared_->options;
  if (incoming_.size() >= options.max_open)
    return std::to_string(incoming_.size()) + " requests of this client are open";
  if (const auto user = shared_->bounded_user(principal_))
    return too_many_of_user(*user, request.payload.size());
  if (shared_->open_requests >= options.max_open_of_all)
    return std::to_string(shared_->open_requests) + " requests are open";
  if (peer_.value() == 0) return std::nullopt;  // a client trusts its server
  const std::size_t bytes = request.payload.size();
  if (open_bytes_ + bytes > kMostOpenBytes)
    return std::to_string(open_bytes_) + " bytes of requests of this client are open";
  if (shared_->open_bytes + bytes > kMostOpenBytesOfAll)
    return std::to_string(shared_->open_bytes) + " bytes of requests are open";
  return std::nullopt;
}

// The bounds of one user, whose connections may be many: no more than what is left of the bounds of
// all (dynamic thresholds: Choudhury, Hahne, ToN 1998), so that a few users together never take
// everything, and a floor whatever the others have.
std::optional<std::string> Session::too_many_of_user(std::uint32_t user, std::size_t bytes) const {
  const auto found = shared_->open_by_user.find(user);
  const auto open = found == shared_->open_by_user.end() ? SessionShared::OfUser() : found->second;
  const Options& options = shared_->options;
  const auto owed = shared_->owed_to_user.find(user);
  if (owed != shared_->owed_to_user.end() && owed->second > kMostOwedToUser)
    return std::to_string(owed->second) + " bytes of answers to this user are unread";
  const auto part = [](std::size_t all, std::size_t used, std::size_t floor, std::size_t most) {
    return std::clamp(all - std::min(all, used), std::min(floor, most), most);
  };
  const std::size_t floor = std::max<std::size_t>(options.max_open / kShareOfFloor, 1);
  if (open.requests >=
      part(options.max_open_of_all, shared_->open_requests, floor, options.max_open))
    return std::to_string(open.requests) + " requests of this user are open";
  if (open.bytes + bytes >
      part(kMostOpenBytesOfAll, shared_->open_bytes, kFloorOfBytes, kMostOpenBytes))
    return std::to_string(open.bytes) + " bytes of requests of this user are open";
  return std::nullopt;
}

void Session::on_incoming_request(Envelope envelope) {
  if (envelope.id != 0 && incoming_.contains(envelope.id)) {
    ++shared_->counters.malformed;  // an answer could not be told from that of the first one
    return;
  }
  if (const auto what = too_many(envelope)) {
    const Error why{Errc::busy, *what, ""};
    if (shared_->bounded_user(principal_)) shared_->tell_bound(principal_, envelope.topic, why);
    return send({Kind::error, envelope.id, "", "", encode_error(why)});
  }
  auto state = std::make_shared<RequestState>();
  state->session = weak_from_this();
  state->peer = peer_;
  state->principal = principal_;
  state->id = envelope.id;
  state->topic = std::move(envelope.topic);
  state->path = std::move(envelope.path);
  state->payload = std::move(envelope.payload);
  if (state->id != 0) {
    const std::size_t bytes = state->payload.size();
    const auto user = favoured_ ? std::nullopt : shared_->bounded_user(principal_);
    incoming_.emplace(state->id, Incoming{state, bytes, user});
    ++shared_->open_requests;
    open_bytes_ += bytes;
    shared_->open_bytes += bytes;
    if (user) {
      auto& of_user = shared_->open_by_user[*user];
      ++of_user.requests;
      of_user.bytes += bytes;
    }
  }
  const Request request(std::move(state));
  if (!shared_->on_request)
    return request.fail({Errc::unsupported, "no requests are served here", ""});
  const auto handler = shared_->on_request;  // it may replace itself
  try {
    (*handler)(request);
  } catch (
      const std::exception& e) {  // a fault of the handler costs its request, not all the others
    request.fail({Errc::system, std::string("internal error: ") + e.what(), ""});
  }
}

void Session::on_answer(Envelope envelope) {
  const auto found = outgoing_.find(envelope.id);
  if (found == outgoing_.end() || !found->second.sent) {
    ++shared_->counters.unexpected;
    return;
  }
  if (envelope.kind == Kind::chunk && !found->second.takes_chunks) {
    send({Kind::cancel, envelope.id, "", "", ""});
    finish(envelope.id, Kind::error,
           fail(Errc::protocol, "a stream came where one answer was expected"));
  } else if (envelope.kind == Kind::chunk) {
    found->second.timer.cancel();
    const auto on_answer = found->second.on_answer;
    on_answer(Kind::chunk, std::move(envelope.payload));
  } else if (envelope.kind == Kind::error) {
    finish(envelope.id, Kind::error, tl::unexpected<Error>(decode_error(envelope.payload)));
  } else {
    finish(envelope.id, envelope.kind, std::move(envelope.payload));
  }
}

void Session::on_cancel(std::uint64_t id) {
  const auto found = incoming_.find(id);
  if (found == incoming_.end()) return;  // answered already: the two messages crossed
  const auto state = found->second.state.lock();
  close_request(id);
  if (!state || std::exchange(state->done, true)) return;
  if (const auto callback = std::exchange(state->on_cancel, nullptr)) callback();
}

void Session::answer(std::uint64_t id, Kind kind, std::string payload) {
  if (!incoming_.contains(id)) return;
  Envelope envelope{kind, id, "", "", std::move(payload)};
  if (too_large(envelope)) {
    const std::string what = "the answer has " + std::to_string(envelope.payload.size()) +
                             " bytes, more than the " + std::to_string(limit_) +
                             " a message may have";
    envelope = {Kind::error, id, "", "", encode_error({Errc::out_of_range, what, ""})};
  }
  if (envelope.kind != Kind::chunk) close_request(id);
  send(std::move(envelope));
}

void Session::close_request(std::uint64_t id) {
  const auto closed = incoming_.extract(id);
  if (closed.empty()) return;
  uncount(closed.mapped());
}

bool Session::too_large(const Envelope& envelope) const {
  return envelope.topic.size() + envelope.path.size() + envelope.payload.size() + kEnvelopeRoom >
         limit_;
}

void Session::send(Envelope envelope) {
  if (open_) send_now(envelope);
}

void Session::send_now(const Envelope& envelope) {
  put_out(encode(envelope));
  if (open_ && marks_ && marks_->is_due(sent_)) send_mark();
}

void Session::put_out(std::string bytes) {
  sent_ += bytes.size();
  shared_->owe(principal_, bytes.size());
  last_sent_ = monotonic_ms();
  transmit_(std::move(bytes));
}

CallId Session::start(Call call, bool takes_chunks, Answer on_answer) {
  const std::uint64_t id = ++shared_->last_call;
  Outgoing& outgoing = outgoing_[id];
  outgoing.takes_chunks = takes_chunks;
  outgoing.on_answer = std::move(on_answer);
  Envelope envelope{Kind::request, id, std::move(call.topic), std::move(call.path),
                    std::move(call.payload)};
  if (dead_) {
    fail_later(id, why_dead_);
    return CallId{id};
  }
  if (call.timeout > 0) {
    outgoing.timer = shared_->reactor.after(
        call.timeout,
        [weak = weak_from_this(), id, topic = envelope.topic, timeout = call.timeout] {
          const auto self = weak.lock();
          if (!self) return;
          const auto found = self->outgoing_.find(id);
          if (found == self->outgoing_.end()) return;
          if (found->second.sent) self->send({Kind::cancel, id, "", "", ""});
          std::erase_if(self->unsent_, [id](const Envelope& e) { return e.id == id; });
          const std::string what =
              "no answer to \"" + topic + "\" within " + std::to_string(timeout) + " ms";
          self->finish(id, Kind::error, fail(Errc::timed_out, what));
        });
  }
  if (open_)
    put_on_wire(std::move(envelope));
  else
    unsent_.push_back(std::move(envelope));
  return CallId{id};
}

void Session::put_on_wire(Envelope request) {
  const auto found = outgoing_.find(request.id);
  if (found == outgoing_.end()) return;
  found->second.sent = true;
  if (too_large(request))
    return fail_later(
        request.id,
        {Errc::out_of_range,
         "the request \"" + request.topic + "\" has " + std::to_string(request.payload.size()) +
             " bytes, more than the " + std::to_string(limit_) + " a message may have",
         ""});
  if (backlog() + request.payload.size() > shared_->options.max_backlog)
    return fail_later(request.id, {Errc::busy, "the peer does not keep up with the requests", ""});
  send(std::move(request));
}

// The loop reports the error, not the call that made the request.
void Session::fail_later(std::uint64_t id, Error error) {
  shared_->reactor.defer([weak = weak_from_this(), id, error = std::move(error)] {
    if (const auto self = weak.lock()) self->finish(id, Kind::error, tl::unexpected<Error>(error));
  });
}

void Session::finish(std::uint64_t id, Kind kind, Result<std::string> result) {
  const auto found = outgoing_.find(id);
  if (found == outgoing_.end()) return;
  const auto alive = shared_from_this();
  const Outgoing outgoing = std::move(found->second);
  outgoing_.erase(found);
  outgoing.on_answer(kind, std::move(result));
}

CallId Session::call(Call call, ReplyHandler done) {
  return start(std::move(call), false,
               [done = std::move(done)](Kind kind, Result<std::string> result) {
                 if (kind == Kind::end)
                   result = fail(Errc::protocol, "a stream came where one answer was expected");
                 done(std::move(result));
               });
}

CallId Session::stream(Call call, StreamHandlers handlers) {
  auto shared = std::make_shared<StreamHandlers>(std::move(handlers));
  return start(std::move(call), true, [shared](Kind kind, Result<std::string> result) {
    if (kind == Kind::chunk || kind == Kind::response) {
      if (shared->on_chunk) shared->on_chunk(std::move(*result));
    }
    if (kind == Kind::chunk || !shared->on_end) return;
    shared->on_end(result ? Status{} : Status(tl::unexpected<Error>(result.error())));
  });
}

void Session::forward(const Request& request, std::string path) {
  const CallId id = start({request.topic(), request.payload(), std::move(path), 0}, true,
                          [request](Kind kind, Result<std::string> result) {
                            if (!result) return request.fail(std::move(result.error()));
                            if (kind == Kind::chunk) return request.send(std::move(*result));
                            kind == Kind::end ? request.end() : request.reply(std::move(*result));
                          });
  request.on_cancel([weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->cancel(id);
  });
}

void Session::notify(std::string topic, std::string payload) {
  Envelope envelope{Kind::request, 0, std::move(topic), "", std::move(payload)};
  if (!too_large(envelope)) send(std::move(envelope));
}

bool Session::cancel(CallId call) {
  const auto found = outgoing_.find(call.value());
  if (found == outgoing_.end()) return false;
  if (found->second.sent) send({Kind::cancel, call.value(), "", "", ""});
  std::erase_if(unsent_, [call](const Envelope& e) { return e.id == call.value(); });
  outgoing_.erase(found);
  return true;
}

}  // namespace holon::transport
