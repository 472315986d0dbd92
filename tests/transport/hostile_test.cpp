// Peers that do not speak the protocol, over real sockets: the server counts, answers where it can,
// and goes on.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <random>
#include <zmq.hpp>

#include "transport/codec/envelope.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr Duration kHostilePatience = 20000;

class HostileTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = *make_runtime_dir();
    uri_ = *ipc_uri(dir_, "s");
    Options options;
    options.max_message = 1 << 20;
    server_ = std::move(*Server::listen(*reactor_, uri_, options));
    server_->on_request([](const Request& request) { request.reply(request.payload()); });
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  bool until(const std::function<bool()>& done) {
    const auto tick = reactor_->every(2, [] {});
    return reactor_->run_until(done, kHostilePatience);
  }
  // A well-behaved client is still served.
  void expect_service() {
    const auto client = std::move(*Client::connect(*reactor_, uri_));
    std::optional<Result<std::string>> answer;
    client->call({"echo", "still here"},
                 [&](Result<std::string> result) { answer = std::move(result); });
    ASSERT_TRUE(until([&] { return answer.has_value(); }));
    EXPECT_EQ(*answer, "still here");
  }
  zmq::socket_t dealer() {
    zmq::socket_t socket(context_, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::sndhwm, 0);  // the server reads on the thread that sends here
    socket.connect(uri_);
    return socket;
  }
  std::optional<Envelope> next(zmq::socket_t& socket) {
    zmq::message_t message;
    bool got = false;
    until([&] { return got = socket.recv(message, zmq::recv_flags::dontwait).has_value(); });
    const auto envelope = got ? decode(message.to_string_view()) : tl::unexpected(DecodeError{});
    return envelope ? std::optional(*envelope) : std::nullopt;
  }

  std::string dir_, uri_;
  zmq::context_t context_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  std::unique_ptr<Server> server_;
};

TEST_F(HostileTest, RandomFramesAreCountedAndIgnored) {
  auto socket = dealer();
  std::mt19937 random(7);
  std::uint64_t sent = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (decode(bytes)) continue;
    socket.send(zmq::buffer(bytes));
    ++sent;
  }
  EXPECT_TRUE(until([&] {
    const Counters counters = server_->counters();
    return counters.malformed + counters.unknown_version == sent;
  }));
  expect_service();
}

TEST_F(HostileTest, BrokenCopiesOfGoodMessagesAfterAProperHelloDoNoHarm) {
  auto socket = dealer();
  socket.send(zmq::buffer(encode({Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 1 << 20})})));
  ASSERT_EQ(next(socket)->kind, Kind::welcome);
  std::mt19937 random(11);
  const std::string good[] = {encode({Kind::request, 5, "echo", "", "payload"}),
                              encode({Kind::response, 5, "", "", "x"}),
                              encode({Kind::cancel, 5, "", "", ""}),
                              encode({Kind::error, 5, "", "", "not an error map"}),
                              encode({Kind::chunk, 6, "", "", ""}),
                              encode({Kind::welcome, 5, "", "", "rubbish"})};
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good[random() % std::size(good)];
    for (auto flips = random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto envelope = decode(bytes);
    if (envelope && (envelope->kind == Kind::bye || envelope->kind == Kind::hello ||
                     envelope->kind == Kind::heartbeat))
      continue;
    socket.send(zmq::buffer(bytes));
  }
  const std::string last = encode({Kind::request, 424242, "echo", "", "last"});
  socket.send(zmq::buffer(last));
  std::optional<Envelope> answer;
  do {
    answer = next(socket);
  } while (answer && answer->id != 424242);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->payload, "last");
  expect_service();
}

TEST_F(HostileTest, AMessageOfAnUnknownVersionIsAnsweredWithAnError) {
  auto socket = dealer();
  std::string later = encode({Kind::request, 3, "t", "", "p"});
  later[1] = 9;
  socket.send(zmq::buffer(later));
  const auto answer = next(socket);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Kind::error);
  EXPECT_EQ(answer->id, 3U);
  EXPECT_EQ(decode_error(answer->payload).code, Errc::unsupported);
  EXPECT_EQ(server_->counters().unknown_version, 1U);
}

TEST_F(HostileTest, WhoDidNotSayHelloIsToldThatItIsUnknown) {
  auto socket = dealer();
  socket.send(zmq::buffer(encode({Kind::request, 3, "echo", "", "p"})));
  EXPECT_EQ(next(socket)->kind, Kind::bye);
}

TEST_F(HostileTest, ASecondRequestWithTheSameOpenIdIsDropped) {
  std::vector<Request> kept;
  server_->on_request([&](const Request& request) { kept.push_back(request); });
  auto socket = dealer();
  socket.send(zmq::buffer(encode({Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})})));
  ASSERT_EQ(next(socket)->kind, Kind::welcome);
  for (int i = 0; i < 2; ++i) socket.send(zmq::buffer(encode({Kind::request, 3, "echo", "", "p"})));
  EXPECT_TRUE(until([&] { return server_->counters().malformed == 1; }));
  EXPECT_EQ(kept.size(), 1U);
}

TEST_F(HostileTest, MessagesOfSeveralFramesAreNotOurs) {
  auto socket = dealer();
  socket.send(zmq::str_buffer("a"), zmq::send_flags::sndmore);
  socket.send(zmq::str_buffer("b"), zmq::send_flags::sndmore);
  socket.send(zmq::str_buffer("c"));
  socket.send(zmq::message_t(), zmq::send_flags::none);
  EXPECT_TRUE(until([&] { return server_->counters().malformed == 2; }));
  expect_service();
}

TEST_F(HostileTest, AnOversizedMessageCostsItsSenderTheConnection) {
  auto socket = dealer();
  socket.send(zmq::buffer(encode({Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})})));
  bool lost = false;
  server_->on_peer_lost([&](PeerId) { lost = true; });
  ASSERT_EQ(next(socket)->kind, Kind::welcome);
  socket.send(zmq::message_t(2 << 20), zmq::send_flags::none);
  EXPECT_TRUE(until([&] { return lost; }));
  expect_service();
}

TEST_F(HostileTest, BytesThatAreNotZeroMqAtAllAreShrugOff) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = uri_.substr(6);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::string bytes(1 + random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (i % 2 == 0)
      bytes.insert(0, std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03", 11));  // a greeting's begin
    static_cast<void>(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    close(fd);
    reactor_->turn(0);
  }
  expect_service();
}

TEST_F(HostileTest, AClientKilledInTheMiddleOfAStreamIsNoticedAtOnce) {
  bool lost = false, streaming = false;
  std::optional<Request> stream;
  bool cancelled = false;
  server_->on_peer_lost([&](PeerId) { lost = true; });
  server_->on_request([&](const Request& request) {
    stream = request;
    streaming = true;
    request.on_cancel([&] { cancelled = true; });
  });
  const pid_t pid = fork();
  if (pid == 0) {
    const auto reactor = std::move(*Reactor::create());
    const auto client = std::move(*Client::connect(*reactor, uri_));
    client->open({"watch", "", "", 0}, {});
    reactor->run();
    _exit(0);
  }
  ASSERT_TRUE(until([&] { return streaming; }));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_TRUE(until([&] { return lost && cancelled; }));
}

TEST_F(HostileTest, ANonsenseServerDoesNotUpsetAClient) {
  zmq::socket_t router(context_, zmq::socket_type::router);
  router.set(zmq::sockopt::linger, 0);
  const std::string uri = *ipc_uri(dir_, "mad");
  router.bind(uri);
  const auto client = std::move(*Client::connect(*reactor_, uri));
  std::optional<Result<std::string>> answer;
  client->call({"x", "", "", 300}, [&](Result<std::string> result) { answer = std::move(result); });
  std::mt19937 random(5);
  const auto feed = reactor_->every(5, [&] {
    zmq::message_t identity, body;
    while (router.recv(identity, zmq::recv_flags::dontwait)) {
      if (!router.recv(body, zmq::recv_flags::dontwait)) return;
      std::string bytes(random() % 64, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      for (const std::string& one : {bytes, encode({Kind::welcome, 99, "", "", "x"}),
                                     encode({Kind::response, 1, "", "", ""})}) {
        router.send(zmq::buffer(identity.to_string()), zmq::send_flags::sndmore);
        router.send(zmq::buffer(one));
      }
    }
  });
  ASSERT_TRUE(until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->error().code, Errc::timed_out);
  EXPECT_FALSE(client->connected());
}

}  // namespace
}  // namespace holon::transport
