// session.hpp - what one connection's end remembers: calls sent and not answered, requests received
// and not answered. Private to transport/; Server and Client own the sockets and hand bytes in and
// out.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "transport/codec/envelope.hpp"
#include "transport/rpc.hpp"
#include "transport/zmtp/read_receipts.hpp"

namespace holon::transport {

class Session;

// The state behind Request handles. Destroyed unanswered, it answers with an error.
struct RequestState {
  std::weak_ptr<Session> session;
  PeerId peer;
  Principal principal;
  std::uint64_t id = 0;
  std::string topic, path, payload;
  bool done = false;
  std::function<void()> on_cancel;
  std::function<void(const Error&)> on_failure;

  RequestState() = default;
  RequestState(const RequestState&) = delete;
  RequestState& operator=(const RequestState&) = delete;
  ~RequestState();
};

// State that all sessions of one Server or Client share.
struct SessionShared {
  Reactor& reactor;
  Options options;
  std::uint64_t incarnation = 0;  // of this process's end
  std::uint64_t last_call = 0;
  Counters counters;
  std::shared_ptr<const RequestHandler> on_request;  // nullptr: none are served
  std::size_t open_requests = 0;                     // received and not answered, over all sessions
  std::size_t open_bytes = 0;                        // of their payloads
  // Open requests of each user who has bounds of their own (bounded_user()) and has any open.
  struct OfUser {
    std::size_t requests = 0, bytes = 0;
  };
  std::unordered_map<std::uint32_t, OfUser> open_by_user{};
  // Bytes that a user on another machine was sent and has not confirmed, over all connections.
  std::unordered_map<std::uint32_t, std::size_t> owed_to_user{};
  std::uint32_t own_user = geteuid();

  // The user whose bounds this peer is under; nullopt: none, as for root and our own user.
  std::optional<std::uint32_t> bounded_user(const Principal& who) const;
  // Adds to owed_to_user, or takes away from it; peers on this machine are not counted.
  void owe(const Principal& who, std::size_t bytes);
  void owe_less(const Principal& who, std::size_t bytes);
  void serve(RequestHandler handler) {
    on_request = handler ? std::make_shared<const RequestHandler>(std::move(handler)) : nullptr;
  }
  // Tells the request handler of a bound (bounds.hpp).
  void tell_bound(const Principal& who, std::string_view topic, const Error& why) const;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Transmit = std::function<void(std::string bytes)>;
  // An answer to a call: kind response or chunk with bytes, end, or error. Nothing comes after the
  // last three.
  using Answer = std::function<void(Kind, Result<std::string>)>;

  Session(std::shared_ptr<SessionShared> shared, PeerId peer, Transmit transmit);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Open: envelopes go out at once. Not open: calls wait for open(), the rest is dropped.
  bool is_open() const { return open_; }
  void open() { open_ = true; }  // then flush(), after those who want to speak first have spoken
  void flush();
  // Calls that were sent fail with `why`, requests received are cancelled, counts begin anew;
  // unsent calls stay.
  void lose(const Error& why);
  // Like lose(), for ever: unsent and all later calls fail too.
  void kill(const Error& why);

  void receive(Envelope envelope, std::size_t bytes);

  CallId call(Call call, ReplyHandler done);
  CallId stream(Call call, StreamHandlers handlers);
  void forward(const Request& request, std::string path);
  void notify(std::string topic, std::string payload);
  bool cancel(CallId call);

  void answer(std::uint64_t id, Kind kind, std::string payload);
  void send(Envelope envelope);
  // Sends an envelope and counts its bytes, even if the session is not open (hello, welcome).
  void send_now(const Envelope& envelope);

  void peer_limit(std::size_t max_message);  // the largest message the peer takes
  void principal(const Principal& who);
  const Principal& principal() const { return principal_; }
  // Lifts the bounds on how many requests wait for an answer, and on their size.
  void favour() { favoured_ = true; }
  // Lets the peer confirm by marks, from the first message on: its numbers of bytes are not
  // believed.
  void ask_for_marks() { marks_.emplace(); }
  // Can the peer have received what this heartbeat confirms?
  bool is_possible(const Envelope& heartbeat) const;
  std::size_t backlog() const { return static_cast<std::size_t>(sent_ - confirmed_); }
  // Has the peer confirmed anything that was sent to it?
  bool has_confirmed() const { return confirmed_ > 0; }
  PeerId peer() const { return peer_; }
  std::int64_t last_heard() const { return last_heard_; }
  // Sends a sign of life if nothing was sent since `since` (monotonic ms).
  void keep_alive(std::int64_t since);
  void count_received(std::size_t bytes);

 private:
  struct Outgoing {
    Answer on_answer;
    Subscription timer;
    bool takes_chunks = false;
    bool sent = false;
  };

  struct Incoming {
    std::weak_ptr<RequestState> state;
    std::size_t bytes = 0;                // of its payload
    std::optional<std::uint32_t> user{};  // in whose count it is
  };

  CallId start(Call call, bool takes_chunks, Answer on_answer);
  void put_on_wire(Envelope request);
  void finish(std::uint64_t id, Kind kind, Result<std::string> result);
  void fail_later(std::uint64_t id, Error error);
  void on_incoming_request(Envelope envelope);
  void on_answer(Envelope envelope);
  void on_cancel(std::uint64_t id);
  void on_heartbeat(const Envelope& heartbeat);
  void send_heartbeat(std::string mark = {});
  void send_mark();
  void put_out(std::string bytes);
  void close_request(std::uint64_t id);
  void drop_incoming();
  std::unordered_map<std::uint64_t, Incoming> forget_incoming();
  std::optional<std::string> too_many(const Envelope& request) const;
  std::optional<std::string> too_many_of_user(std::uint32_t user, std::size_t bytes) const;
  void uncount(const Incoming& request);
  bool too_large(const Envelope& envelope) const;

  std::shared_ptr<SessionShared> shared_;
  PeerId peer_;
  Principal principal_;
  Transmit transmit_;
  bool open_ = false;
  bool dead_ = false;
  bool favoured_ = false;
  Error why_dead_;
  std::size_t limit_;
  std::unordered_map<std::uint64_t, Outgoing> outgoing_;
  std::vector<Envelope> unsent_;
  std::unordered_map<std::uint64_t, Incoming> incoming_;
  std::size_t open_bytes_ = 0;  // of incoming_
  std::uint64_t sent_ = 0, confirmed_ = 0, received_ = 0, reported_ = 0;
  std::optional<ReadReceipts> marks_;  // nullopt: the peer confirms by numbers
  std::int64_t last_heard_ = 0, last_sent_ = 0;
};

// Monotonic milliseconds, by which silence is measured.
std::int64_t monotonic_ms();
// A number that no other start of a process will have.
std::uint64_t new_incarnation();

}  // namespace holon::transport
