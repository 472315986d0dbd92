// client.cpp - a line that says hello on every connection it makes.
//
// A server that is connected but silent, or does not know this client any more (bye), is left by
// opening a new line.
#include <unistd.h>

#include <algorithm>

#include "transport/network.hpp"
#include "transport/session.hpp"

namespace holon::transport {
namespace {

constexpr std::string_view kIpcAddress = "ipc://";
constexpr Duration kHelloAgain =
    2;  // ms; the connection was announced before it could be written to

}  // namespace

class Client::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Reactor& reactor, std::string uri, Options options)
      : uri_(std::move(uri)),
        shared_(std::make_shared<SessionShared>(
            SessionShared{reactor, std::move(options), new_incarnation(), 0, {}, {}, 0})),
        session_(std::make_shared<Session>(
            shared_, PeerId{}, [this](std::string bytes) { transmit(std::move(bytes)); })) {}
  ~Impl() { close(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start() {
    if (const Status opened = open_line(); !opened) return opened;
    ticks_ = shared_->reactor.every(std::max<Duration>(shared_->options.heartbeat / 2, 1),
                                    [weak = weak_from_this()] {
                                      if (const auto self = weak.lock()) self->tick();
                                    });
    return {};
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    ticks_.cancel();
    hello_again_.cancel();
    if (line_ && greeted_) line_->send(encode({Kind::bye, 0, "", "", ""}));
    session_->kill({Errc::disconnected, "the connection was closed", ""});
    close_line();
  }

  const std::string& uri() const { return uri_; }
  bool connected() const { return session_->is_open(); }
  const std::optional<Error>& refusal() const { return refusal_; }
  SessionShared& shared() { return *shared_; }
  Session& session() { return *session_; }

  std::function<void(const PeerInfo&)> on_connected;
  std::function<void()> on_lost;

 private:
  Result<std::shared_ptr<Line>> new_line() {
    Reactor& reactor = shared_->reactor;
    const Options& options = shared_->options;
    if (reactor.network() != nullptr)
      return reactor.network()->connect(reactor, uri_, options.security.public_key, line_events());
    if (uri_.starts_with(kIpcAddress))
      return open_ipc_line(reactor, uri_.substr(kIpcAddress.size()), options, line_events());
    return open_zmq_line(reactor, uri_, options, line_events());
  }

  Status open_line() {
    auto line = new_line();
    if (!line) return tl::unexpected<Error>(line.error());
    line_ = std::move(*line);
    return {};
  }

  Line::Events line_events() {
    const auto told = [weak = weak_from_this()](auto act) {
      return [weak, act] {
        if (const auto self = weak.lock(); self && !self->closed_) act(*self);
      };
    };
    Line::Events events;
    events.on_made = told([](Impl& self) { self.on_made(); });
    events.on_broken = told([](Impl& self) { self.lose("the server went away"); });
    events.on_foreign = told([](Impl& self) { ++self.shared_->counters.malformed; });
    events.on_message = [weak = weak_from_this()](std::string_view bytes) {
      if (const auto self = weak.lock(); self && !self->closed_) self->on_message(bytes);
    };
    return events;
  }

  void close_line() {
    if (const auto line = std::exchange(line_, nullptr)) line->close();
  }

  void on_made() {
    if (session_->is_open()) lose("the connection was made anew");
    if (closed_) return;
    greeted_ = false;
    ++hello_id_;
    say_hello();
  }

  void say_hello() {
    if (closed_) return;
    const Envelope hello{Kind::hello, hello_id_, "", "",
                         encode_greeting({shared_->options.name, getpid(), shared_->incarnation,
                                          shared_->options.max_message})};
    greeted_ = true;  // before sending: transmit() clears it
    session_->send_now(hello);
    if (greeted_) return;
    session_->lose({});  // nothing is open; only the count of bytes begins anew
    hello_again_ = shared_->reactor.after(kHelloAgain, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->say_hello();
    });
  }

  void transmit(std::string bytes) {
    if (closed_ || (line_ && line_->send(std::move(bytes)))) return;
    greeted_ = false;  // no connection: on_broken() is on its way, or overdue
  }

  void on_message(std::string_view bytes) {
    auto envelope = decode(bytes);
    if (!envelope) {
      const DecodeError& rubbish = envelope.error();
      ++(rubbish.error.code == Errc::unsupported ? shared_->counters.unknown_version
                                                 : shared_->counters.malformed);
      if (rubbish.request_id)
        session_->send({Kind::error, *rubbish.request_id, "", "", encode_error(rubbish.error)});
      return;
    }
    if (envelope->kind == Kind::bye) {
      line_->send(encode({Kind::bye, 0, "", "", ""}));  // all that came before it was read
      const std::string why =
          envelope->payload.empty() ? "" : ": " + decode_error(envelope->payload).what;
      return start_over("the server does not know this connection any more" + why);
    }
    if (envelope->kind == Kind::error && envelope->id == hello_id_ && !session_->is_open()) {
      refusal_ = decode_error(envelope->payload);
      lose("the server has no place for this client");
      return close_line();  // and again at a later tick
    }
    if (envelope->kind == Kind::welcome)
      on_welcome(*envelope, bytes.size());
    else if (session_->is_open())
      session_->receive(std::move(*envelope), bytes.size());
  }

  void on_welcome(const Envelope& welcome, std::size_t bytes) {
    const auto greeting = decode_greeting(welcome.payload);
    if (!greeting || welcome.id != hello_id_ || session_->is_open()) {
      ++shared_->counters.unexpected;
      return;
    }
    refusal_.reset();
    session_->peer_limit(greeting->max_message);
    session_->open();
    session_->count_received(bytes);
    if (on_connected) on_connected({greeting->name, greeting->pid, greeting->incarnation});
    if (!closed_ && session_->is_open()) session_->flush();
  }

  void lose(const std::string& why) {
    hello_again_.cancel();
    const bool was_open = session_->is_open();
    greeted_ = false;
    session_->lose({Errc::disconnected, why, uri_});
    if (was_open && on_lost && !closed_) on_lost();
  }

  void start_over(const std::string& why) {
    lose(why);
    if (closed_) return;
    close_line();
    if (!open_line()) close_line();
  }

  void tick() {
    const std::int64_t now = monotonic_ms();
    if (!line_) {  // turned away, or no file descriptors were left for a new one: try again
      if (!open_line()) close_line();
      return;
    }
    if (hello_id_ > 0 && greeted_ && now - session_->last_heard() > shared_->options.peer_timeout)
      return start_over("nothing was heard of the server for " +
                        std::to_string(shared_->options.peer_timeout) + " ms");
    session_->keep_alive(now - shared_->options.heartbeat / 2);
  }

  std::string uri_;
  std::shared_ptr<SessionShared> shared_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Line> line_;
  std::optional<Error> refusal_;
  bool closed_ = false;
  bool greeted_ = false;  // hello was sent on the connection there is
  std::uint64_t hello_id_ =
      0;  // of the last connection; an older welcome is not meant for this one
  Subscription ticks_, hello_again_;
};

Result<std::unique_ptr<Client>> Client::connect(Reactor& reactor, const std::string& uri,
                                                Options options) {
  auto impl = std::make_shared<Impl>(reactor, uri, std::move(options));
  if (auto started = impl->start(); !started) return tl::unexpected<Error>(started.error());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() {
  impl_->close();
}

const std::string& Client::uri() const {
  return impl_->uri();
}
bool Client::connected() const {
  return impl_->connected();
}
const std::optional<Error>& Client::refusal() const {
  return impl_->refusal();
}
void Client::on_connected(std::function<void(const PeerInfo&)> callback) {
  impl_->on_connected = std::move(callback);
}
void Client::on_lost(std::function<void()> callback) {
  impl_->on_lost = std::move(callback);
}
void Client::on_request(RequestHandler handler) {
  impl_->shared().serve(std::move(handler));
}
CallId Client::call(Call call, ReplyHandler done) {
  return impl_->session().call(std::move(call), std::move(done));
}
CallId Client::open(Call call, StreamHandlers handlers) {
  return impl_->session().stream(std::move(call), std::move(handlers));
}
void Client::forward(const Request& request, std::string path) {
  impl_->session().forward(request, std::move(path));
}
void Client::notify(std::string topic, std::string payload) {
  impl_->session().notify(std::move(topic), std::move(payload));
}
void Client::cancel(CallId call) {
  impl_->session().cancel(call);
}
Counters Client::counters() const {
  return impl_->shared().counters;
}

}  // namespace holon::transport
