// rpc.hpp - requests, answers and streams between processes, over ZeroMQ (docs/protocol.md has the
// bytes).
//
// A Server listens, Clients connect to it; afterwards both sides may send requests over the
// connection (a parent calls its child over the connection the child opened). Payloads are opaque
// bytes here; codec.hpp packs and unpacks structs. Everything happens on the reactor's thread, and
// no callback is called from inside the call that registers it.
//
// Failure model. A request is answered exactly once: by its reply, by an error from the peer, by
// Errc::timed_out, or by Errc::disconnected when the peer is lost (then it may or may not have been
// carried out: make requests idempotent or ask again). A peer is lost when its connection breaks or
// nothing was heard of it for Options::peer_timeout. A message that cannot be understood is
// counted, logged by whoever asks counters(), and otherwise ignored, or answered with an error
// where it can be; it never ends the process.
//
// Bounds. A server at an ipc:// address serves its peers in turn, who has used least first; it
// serves nobody who does not take his answers, and lets nobody connect for whom there are no
// descriptors (Errc::busy). What that costs it at most is in Options.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "transport/curve/admission.hpp"
#include "transport/principal.hpp"
#include "transport/reactor.hpp"

namespace holon::transport {

// CURVE keys in Z85 text (40 characters); all empty: no encryption, which only ipc:// and loopback
// addresses may have. In a server of Server::listen() they say who the server is, not who the
// client is: any client that knows the server's public key is let in. Server::also_listen() knows
// clients.
struct Security {
  std::string server_public_key;  // a client needs it
  std::string public_key;         // one's own
  std::string secret_key;
};

struct Options {
  // The most bytes of a message, the envelope included, sent or received; larger ones are refused.
  std::size_t max_message = std::size_t{64} << 20;
  // For a server: the most bytes of a message from a client.
  std::size_t max_received = std::size_t{16} << 20;
  // Bytes waiting for one slow peer before it counts as lost; in a client, for its server.
  std::size_t max_backlog = std::size_t{80} << 20;
  // For a server: bytes waiting for all peers together before the slowest counts as lost.
  std::size_t max_unsent = std::size_t{128} << 20;
  // For a server: requests of one peer, and of all together, that wait for an answer.
  std::size_t max_open = 10'000, max_open_of_all = 50'000;
  // For a server: first words of the names of clients for which the last places are kept. A client
  // that has such a name and is not favoured soon may lose the place again.
  std::vector<std::string> kept_for;
  Duration heartbeat = 1000;      // ms of silence after which a sign of life is sent
  Duration peer_timeout = 20000;  // ms without any sign of life after which the peer is lost
  Duration introduction = 10000;  // ms that a server waits for the hello of a connection
  bool for_everybody = false;     // of a server at ipc://: other users connect, each within bounds
  std::string name;               // the name of this side, for the other's logs
  Security security;
};

// One connection as its server knows it; never reused. A client that reconnects is a new peer.
using PeerId = Strong<struct PeerIdTag, std::uint64_t>;
// One request as its sender knows it; never reused within a process.
using CallId = Strong<struct CallIdTag, std::uint64_t>;

// Messages received and not understood, since the start.
struct Counters {
  std::uint64_t malformed = 0;        // not an envelope, or an impossible one
  std::uint64_t unknown_version = 0;  // an envelope of a version this program does not speak
  std::uint64_t unexpected = 0;       // an answer to nothing, a second answer
  std::uint64_t too_slow = 0;         // peers given up because of max_backlog or max_unsent
  std::uint64_t refused = 0;          // peers for whom there was no place
  std::uint64_t unread = 0;           // peers that take_leave() waited for in vain
};

struct RequestState;

// A request received: a handle that may be copied, kept, and answered later. When the last copy
// goes unanswered, the sender gets an error. Answers after the peer was lost, or second ones, are
// ignored.
class Request {
 public:
  Request() = default;  // answers go nowhere
  explicit Request(std::shared_ptr<RequestState> state);

  const std::string& topic() const;
  const std::string& path() const;  // "" for this instance, else the instance meant: "/3/7"
  const std::string& payload() const;
  // Replaces the payload for all later readers: by the part of it that its sender may ask.
  void rewrite(std::string payload) const;
  PeerId peer() const;  // 0 on a Client, whose only peer is its server
  // The sender, by the kernel's word or by a key; unknown on a Client.
  Principal principal() const;

  void reply(std::string payload) const;
  void fail(Error error) const;

  // Sends a stream: any number of chunks, then end() (or fail()).
  void send(std::string chunk) const;
  void end() const;
  // Bytes accepted for this peer and not yet taken over by the network; a producer should pause
  // while it is large.
  std::size_t backlog() const;

  // Called once, before the answer, when the request is answered with an error. One callback per
  // request.
  void on_failure(std::function<void(const Error&)> callback) const;

  // Is it answered, cancelled by its sender, or the peer lost? Nobody waits for more then.
  bool done() const;
  // Called once when the sender cancels or is lost before the answer was complete. One callback per
  // request.
  void on_cancel(std::function<void()> callback) const;

 private:
  std::shared_ptr<RequestState> state_;
};

// Handles a request; an exception it lets out becomes an error answer.
using RequestHandler = std::function<void(Request)>;
using ReplyHandler = std::function<void(Result<std::string>)>;

// A request to send.
struct Call {
  std::string topic;
  std::string payload = {};
  std::string path = {};     // "" for the peer itself
  Duration timeout = 30000;  // ms until Errc::timed_out; 0: wait for ever. Of a stream: until its
                             // first chunk or end.
};

struct StreamHandlers {
  std::function<void(std::string chunk)> on_chunk;
  std::function<void(Status)> on_end;  // exactly once, unless cancelled
};

// The peer that connected.
struct PeerInfo {
  std::string name;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;  // differs for every start of the peer's process
};

class Server {
 public:
  // Listens at `uri`: ipc://PATH or tcp://HOST:PORT (port * or 0: any free one, see uri()). An ipc
  // path is locked for the life of the server (PATH.lock): a dead process's socket is replaced, a
  // living one's is not. Errors: exists (somebody listens there), invalid_argument (path too long,
  // plain tcp beyond loopback), system.
  static Result<std::unique_ptr<Server>> listen(Reactor& reactor, const std::string& uri,
                                                Options options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens beside that for clients on other machines: over tcp at `socket` (listening_socket()),
  // those that `admission` knows by their keys, under the names it knows them by (Principal).
  // Returns the address. Errors: exists (it does so already), system.
  Result<std::string> also_listen(UniqueFd socket, Admission admission);

  const std::string& uri() const;
  void on_request(RequestHandler handler);  // without one, every request gets Errc::unsupported
  void on_peer(std::function<void(PeerId, const PeerInfo&)> callback);
  void on_peer_lost(std::function<void(PeerId)> callback);

  CallId call(PeerId peer, Call call, ReplyHandler done);
  CallId open(PeerId peer, Call call, StreamHandlers handlers);
  // Passes a request on to `peer`, and its answer, stream or cancellation back. No timeout of its
  // own.
  void forward(PeerId peer, const Request& request, std::string path);
  // Sends a request without an answer; lost silently if the peer is.
  void notify(PeerId peer, std::string topic, std::string payload);
  // Tells the peer; the handler is never called. Unknown and finished calls are ignored.
  void cancel(CallId call);

  // Sets who the peer has proved to be by other means, for its next requests.
  void prove(PeerId peer, const Principal& who);
  // The peer's principal; unknown if the peer is gone.
  Principal principal_of(PeerId peer) const;
  // Lifts the bounds on what this peer may cost (Options) and serves its requests first. A peer of
  // another user (for_everybody) only keeps its place, beside those that its user may have.
  void favour(PeerId peer);
  // Ends the peer's connection: it is told so, and may say hello again as a new peer.
  void dismiss(PeerId peer);
  // Ends this server: every peer is told that there is no more, new ones are not taken. `done` is
  // called once peers still there have read all that was sent before, or after `patience` ms.
  void take_leave(Duration patience, std::function<void()> done);

  Counters counters() const;

 private:
  class Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// Connects, and connects again whenever the connection is lost, until destroyed. Requests made
// while there is no connection wait for one (within their timeout) and are sent after
// on_connected() has run.
class Client {
 public:
  // Returns at once; nothing needs to listen at `uri` yet. Errors: invalid_argument (not an
  // endpoint), system.
  static Result<std::unique_ptr<Client>> connect(Reactor& reactor, const std::string& uri,
                                                 Options options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& uri() const;
  bool connected() const;
  // Why the server has no place for this client, as it last said; nullopt: it did not say so.
  const std::optional<Error>& refusal() const;

  // Called for every connection made; `incarnation` differs from the last one when the server was
  // restarted. A client with state at the server says hello again here: calls made inside go out
  // before those that waited.
  void on_connected(std::function<void(const PeerInfo& server)> callback);
  // Called when the connection broke or the server was silent for too long. Open calls have failed
  // with Errc::disconnected.
  void on_lost(std::function<void()> callback);
  void on_request(RequestHandler handler);

  CallId call(Call call, ReplyHandler done);
  CallId open(Call call, StreamHandlers handlers);
  void forward(const Request& request, std::string path);
  void notify(std::string topic, std::string payload);
  void cancel(CallId call);

  Counters counters() const;

 private:
  class Impl;
  explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace holon::transport
