// What a client over tcp has not read is owed by its connection, however many sessions it begins.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "transport/codec/envelope.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr Duration kDebtsPatience = 60'000;  // ms; only a failing test waits so long
constexpr std::size_t kMebibyte = 1 << 20;

class UnreadBytesTest : public testing::Test {
 protected:
  void listen(Options options) {
    options.for_everybody = true;
    server_ = std::move(*Server::listen(*reactor_, "tcp://127.0.0.1:*", options));
    server_->on_peer([this](PeerId peer, const PeerInfo&) {
      ++sessions_;
      server_->prove(peer, {Principal::Kind::munge, 61'002, 0, 0, "afar"});
    });
    server_->on_peer_lost([this](PeerId) { ++lost_; });
    server_->on_request([this](const Request& request) {
      if (request.peer().value() == 0) return;  // the server tells of a bound
      ++asked_;
      request.reply(request.topic() == "much" ? std::string(size_, 'x') : "few");
    });
  }
  bool until(const std::function<bool()>& done) {
    const auto tick = reactor_->every(2, [] {});
    return reactor_->run_until(done, kDebtsPatience);
  }
  // Reads into memory, and confirms only what the test does.
  std::unique_ptr<zmq::socket_t> dealer() {
    auto socket = std::make_unique<zmq::socket_t>(context_, zmq::socket_type::dealer);
    socket->set(zmq::sockopt::linger, 0);
    socket->connect(server_->uri());
    return socket;
  }
  void hello(zmq::socket_t& socket) {
    const int before = sessions_;
    send(socket, {Kind::hello, ++hellos_, "", "", encode_greeting({"x", 1, 1, 0})});
    ASSERT_TRUE(until([&] { return sessions_ > before; }));
  }
  void bye(zmq::socket_t& socket) {
    const int before = lost_;
    send(socket, {Kind::bye, 0, "", "", ""});
    ASSERT_TRUE(until([&] { return lost_ > before; }));
  }
  void ask(zmq::socket_t& socket, const std::string& topic) {
    const int before = asked_;
    send(socket, {Kind::request, ++last_, topic, "", ""});
    ASSERT_TRUE(until([&] { return asked_ > before; }));
  }
  void ask_much(zmq::socket_t& socket) { ask(socket, "much"); }
  // Reads on until such a message has come.
  Envelope read_until(zmq::socket_t& socket, const std::function<bool(const Envelope&)>& is_it) {
    Envelope last;
    const bool came = until([&] {
      zmq::message_t message;
      while (socket.recv(message, zmq::recv_flags::dontwait)) {
        const auto envelope = decode(message.to_string_view());
        if (!envelope || !is_it(*envelope)) continue;
        last = *envelope;
        return true;
      }
      return false;
    });
    EXPECT_TRUE(came);
    return last;
  }
  std::string read_mark(zmq::socket_t& socket) { return read_until(socket, has_mark).payload; }
  static bool has_mark(const Envelope& message) {
    return message.kind == Kind::heartbeat && !message.payload.empty();
  }
  bool is_refused_for_unread_answers(Client& client) {
    return answer_to(client).find("bytes of answers to this user are unread") != std::string::npos;
  }
  // Of what was owed the server learns in its own time: it asks a connection again after a pause.
  bool is_served_at_last(Client& client) {
    const Time end = reactor_->now() + kDebtsPatience;
    while (answer_to(client) != "few")
      if (reactor_->now() > end) return false;
    return true;
  }
  static void send(zmq::socket_t& socket, const Envelope& envelope) {
    socket.send(zmq::buffer(encode(envelope)), zmq::send_flags::none);
  }
  // "few", or why not.
  std::string answer_to(Client& client) {
    std::string said;
    client.call({"little", "", "", 0}, [&](const Result<std::string>& answer) {
      said = answer ? *answer : answer.error().what;
    });
    EXPECT_TRUE(until([&] { return !said.empty(); }));
    return said;
  }

  zmq::context_t context_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  std::unique_ptr<Server> server_;
  std::size_t size_ = 33 * kMebibyte;
  std::uint64_t last_ = 0, hellos_ = 0;
  int sessions_ = 0, lost_ = 0, asked_ = 0;
};

TEST_F(UnreadBytesTest, NeitherByeNorAnotherHelloTakesAwayWhatAUserOwes) {
  listen({});
  auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  ask_much(*socket);
  bye(*socket);
  hello(*socket);
  const auto other = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_TRUE(is_refused_for_unread_answers(*other));
  // The end of the connection does.
  socket.reset();
  EXPECT_TRUE(is_served_at_last(*other));
}

TEST_F(UnreadBytesTest, WhoReadsOfALaterSessionHasReadTheEarlierOnes) {
  listen({});
  const auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  const auto other = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_TRUE(is_refused_for_unread_answers(*other));
  for (int session = 0; session < 3; ++session)
    read_until(*socket, [](const Envelope& message) { return message.kind == Kind::welcome; });
  send(*socket, {Kind::heartbeat, 1, "", "", read_mark(*socket)});
  EXPECT_TRUE(is_served_at_last(*other));
}

TEST_F(UnreadBytesTest, SessionsOfOneConnectionHaveOneBound) {
  Options options;
  options.max_backlog = kMebibyte;
  size_ = 600 << 10;
  listen(options);
  const auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  ask_much(*socket);
  EXPECT_TRUE(until([&] { return lost_ == 2; }));
  EXPECT_GE(server_->counters().too_slow, 1U);
  // It is told nothing more, nor has it another session.
  send(*socket, {Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})});
  EXPECT_TRUE(until([&] { return server_->counters().refused == 1; }));
  EXPECT_EQ(sessions_, 2);
}

// It knows how long its answers are, and confirms them, and the first byte of each session.
TEST_F(UnreadBytesTest, WhatIsConfirmedUnreadIsOwed) {
  listen({});
  const auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  send(*socket, {Kind::heartbeat, size_, "", "", ""});
  hello(*socket);
  send(*socket, {Kind::heartbeat, 1, "", "", ""});
  ask_much(*socket);
  send(*socket, {Kind::heartbeat, size_, "", "", ""});
  bye(*socket);
  hello(*socket);
  send(*socket, {Kind::heartbeat, 1, "", "", ""});
  hello(*socket);
  const auto other = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_TRUE(is_refused_for_unread_answers(*other));
}

TEST_F(UnreadBytesTest, OneConnectionThatConfirmsUnreadAnswersIsGivenUp) {
  Options options;
  options.max_backlog = kMebibyte;
  size_ = 600 << 10;
  listen(options);
  const auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  send(*socket, {Kind::heartbeat, size_, "", "", ""});
  ask_much(*socket);
  EXPECT_TRUE(until([&] { return lost_ == 1; }));
  EXPECT_GE(server_->counters().too_slow, 1U);
  const auto last = read_until(*socket, [](const Envelope& m) { return m.kind == Kind::bye; });
  const Error why = decode_error(last.payload);
  EXPECT_EQ(why.code, Errc::busy);
  EXPECT_NE(why.what.find("bytes of answers to this client are unread"), std::string::npos)
      << why.what;
}

TEST_F(UnreadBytesTest, WhoGuessesAMarkIsGivenUpAndOwesOn) {
  listen({});
  const auto socket = dealer();
  for (int session = 0; session < 2; ++session) {
    hello(*socket);
    ask_much(*socket);
    send(*socket, {Kind::heartbeat, 1, "", "", std::string(8, 'x')});
    ASSERT_TRUE(until([&] { return lost_ == session + 1; }));
  }
  EXPECT_EQ(server_->counters().malformed, 2U);
  const auto other = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_TRUE(is_refused_for_unread_answers(*other));
}

TEST_F(UnreadBytesTest, WhoReadsIsServedOnHoweverMuchItAsksFor) {
  listen({});
  const auto client = std::move(*Client::connect(*reactor_, server_->uri()));
  for (int i = 0; i < 6; ++i) {
    std::optional<Result<std::string>> answer;
    client->call({"much", "", "", 0}, [&](Result<std::string> said) { answer = std::move(said); });
    ASSERT_TRUE(until([&] { return answer.has_value(); }));
    ASSERT_TRUE(*answer) << i << ": " << to_string(answer->error());
    EXPECT_EQ((*answer)->size(), size_);
  }
  EXPECT_EQ(lost_, 0);
}

// It asks on while it is behind by less than a user may be.
TEST_F(UnreadBytesTest, WhoReadsSlowlyIsServedOn) {
  size_ = 5 * kMebibyte;
  listen({});
  const auto socket = dealer();
  hello(*socket);
  for (int i = 0; i < 10; ++i) ask_much(*socket);
  for (int i = 0; i < 20; ++i) {
    send(*socket, {Kind::heartbeat, 1, "", "", read_mark(*socket)});
    ask_much(*socket);
  }
  EXPECT_EQ(asked_, 30);
  EXPECT_EQ(lost_, 0);
}

TEST_F(UnreadBytesTest, LittleCanBeConfirmedToo) {
  Options options;
  options.heartbeat = 10;
  listen(options);
  const auto socket = dealer();
  hello(*socket);
  ask(*socket, "little");
  read_until(*socket, [](const Envelope& message) { return message.kind == Kind::response; });
  const std::string first = read_mark(*socket);
  // There is one at a time.
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(read_until(*socket, [](const Envelope&) { return true; }).payload.empty());
  send(*socket, {Kind::heartbeat, 1, "", "", first});
  EXPECT_NE(read_mark(*socket), first);
}

// A connection without a session can only be asked by a message, which it may not read, either.
TEST_F(UnreadBytesTest, WhoOwesIsNotToldSomethingWheneverAnotherConnectionEnds) {
  Options options;
  options.heartbeat = 4;
  listen(options);
  const auto socket = dealer();
  hello(*socket);
  ask(*socket, "little");
  bye(*socket);
  constexpr int kOthers = 40;
  for (int i = 0; i < kOthers; ++i) {
    const int before = lost_;
    auto other = std::move(*Client::connect(*reactor_, server_->uri()));
    ASSERT_TRUE(until([&] { return other->connected(); }));
    other.reset();
    ASSERT_TRUE(until([&] { return lost_ > before; }));
    const auto later = reactor_->now() + 4 * options.heartbeat;
    until([&] { return reactor_->now() > later; });
  }
  int byes = 0;
  hello(*socket);
  read_until(*socket, [&](const Envelope& message) {
    byes += message.kind == Kind::bye ? 1 : 0;
    return message.kind == Kind::welcome && message.id == 2;
  });
  EXPECT_LT(byes, kOthers / 2);
}

}  // namespace
}  // namespace holon::transport
