// What a client over tcp has not read is owed by its connection, however many sessions it begins.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "transport/codec/envelope.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr Duration kDebtsPatience = 60'000;  // ms; only a failing test waits so long
constexpr std::size_t kMebibyte = 1 << 20;

class LeftDebtsTest : public testing::Test {
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
    send(socket, {Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})});
    ASSERT_TRUE(until([&] { return sessions_ > before; }));
  }
  void bye(zmq::socket_t& socket) {
    const int before = lost_;
    send(socket, {Kind::bye, 0, "", "", ""});
    ASSERT_TRUE(until([&] { return lost_ > before; }));
  }
  void ask_much(zmq::socket_t& socket) {
    const int before = asked_;
    send(socket, {Kind::request, ++last_, "much", "", ""});
    ASSERT_TRUE(until([&] { return asked_ > before; }));
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
  std::uint64_t last_ = 0;
  int sessions_ = 0, lost_ = 0, asked_ = 0;
};

TEST_F(LeftDebtsTest, NeitherByeNorAnotherHelloTakesAwayWhatAUserOwes) {
  listen({});
  auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  ask_much(*socket);
  bye(*socket);
  hello(*socket);
  const auto other = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_NE(answer_to(*other).find("bytes of answers to this user are unread"), std::string::npos);
  // The end of the connection does.
  socket.reset();
  std::string last;
  for (int i = 0; i < 10'000 && last != "few"; ++i) last = answer_to(*other);
  EXPECT_EQ(last, "few");
}

TEST_F(LeftDebtsTest, WhoReadsOfALaterSessionHasReadTheEarlierOnes) {
  listen({});
  const auto socket = dealer();
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  ask_much(*socket);
  hello(*socket);
  const auto other = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_NE(answer_to(*other), "few");
  send(*socket, {Kind::heartbeat, 1, "", "", ""});
  std::string last;
  for (int i = 0; i < 10'000 && last != "few"; ++i) last = answer_to(*other);
  EXPECT_EQ(last, "few");
}

TEST_F(LeftDebtsTest, SessionsOfOneConnectionHaveOneBound) {
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

}  // namespace
}  // namespace holon::transport
