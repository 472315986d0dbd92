// A server that knows its clients by their keys: who is let in over tcp, as whom, and who is not.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <map>
#include <optional>

#include <zmq.hpp>

#include "transport/codec/envelope.hpp"
#include "transport/curve/admission.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr Duration kCurvePatience = 60'000;  // ms; only a failing test waits so long

// A connection to a port of this machine that does not wait.
UniqueFd dial(const std::string& uri) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(uri.substr(uri.rfind(':') + 1))));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

// Stands between one client and the server, and keeps what the client said.
class Listener {
 public:
  Listener(Reactor& reactor, std::string server)
      : server_(std::move(server)), here_(std::move(*listening_socket("127.0.0.1"))) {
    turn_ = reactor.every(2, [this] { pump(); });
  }
  std::string uri() const { return "tcp://127.0.0.1:" + std::to_string(here_.port); }
  const std::string& heard() const { return heard_; }

 private:
  void pump() {
    if (!client_) {
      client_.reset(accept4(here_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client_) return;
      far_ = dial(server_);
    }
    heard_ += pass(client_.get(), far_.get());
    pass(far_.get(), client_.get());
  }
  static std::string pass(int from, int to) {
    std::string bytes(4096, '\0');
    const ssize_t n = recv(from, bytes.data(), bytes.size(), 0);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    if (!bytes.empty()) {
      EXPECT_EQ(send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL), n);
    }
    return bytes;
  }

  std::string server_, heard_;
  TcpSocket here_;
  UniqueFd client_, far_;
  Subscription turn_;
};

class CurveTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = *make_runtime_dir();
    server_ = std::move(*Server::listen(*reactor_, *ipc_uri(dir_, "s")));
    server_->on_request([this](const Request& request) {
      asked_.push_back(request.principal());
      peers_[request.principal().name] = request.peer();
      request.reply(request.payload());
    });
    auto uri = server_->also_listen(std::move(listening_socket("127.0.0.1")->fd), admission());
    ASSERT_TRUE(uri) << to_string(uri.error());
    uri_ = *uri;
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  Admission admission() {
    Admission who;
    who.own = own_;
    who.name_of = [this](const std::string& key) {
      const auto known = names_.find(key);
      return known == names_.end() ? "" : known->second;
    };
    who.on_refused = [this](const std::string& source, const std::string& why) {
      refused_.push_back(source + ": " + why);
    };
    return who;
  }
  // A key that the server knows under this name.
  KeyPair known_as(const std::string& name) {
    KeyPair key = *new_key_pair();
    names_[key.public_key] = name;
    return key;
  }
  std::unique_ptr<Client> client_of(const KeyPair& key) { return client_of(key, uri_); }
  std::unique_ptr<Client> client_of(const KeyPair& key, const std::string& uri) {
    Options options;
    options.security = {own_.public_key, key.public_key, key.secret_key};
    return std::move(*Client::connect(*reactor_, uri, options));
  }
  bool until(const std::function<bool()>& done) {
    return reactor_->run_until(done, kCurvePatience);
  }
  Result<std::string> ask(Client& client, const std::string& what) {
    std::optional<Result<std::string>> answer;
    client.call({"x", what}, [&](Result<std::string> result) { answer = std::move(result); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return answer ? *answer : fail(Errc::timed_out, "no answer at all");
  }
  // Is somebody refused now, and nothing else said to the server?
  void expect_refusal() {
    const std::size_t before = asked_.size();
    EXPECT_TRUE(until([this] { return !refused_.empty(); }));
    EXPECT_EQ(asked_.size(), before);
  }

  std::string dir_, uri_;
  KeyPair own_ = *new_key_pair();
  std::map<std::string, std::string> names_;
  std::vector<Principal> asked_;
  std::map<std::string, PeerId> peers_;
  std::vector<std::string> refused_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  std::unique_ptr<Server> server_;
};

TEST_F(CurveTest, AClientIsWhomItsKeyBelongsTo) {
  const auto third = client_of(known_as("agent 3")), fourth = client_of(known_as("agent 4"));
  EXPECT_EQ(ask(*third, "a"), "a");
  EXPECT_EQ(ask(*fourth, "b"), "b");
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[0], (Principal{Principal::Kind::key, 0, 0, 0, "agent 3"}));
  EXPECT_EQ(asked_[1], (Principal{Principal::Kind::key, 0, 0, 0, "agent 4"}));
  EXPECT_TRUE(refused_.empty());
}

TEST_F(CurveTest, BothDoorsOfAServerLeadToTheSamePeers) {
  const auto far = client_of(known_as("agent 1"));
  const auto near = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_EQ(ask(*near, "near"), "near");
  EXPECT_EQ(ask(*far, "far"), "far");
  far->on_request([](const Request& request) { request.reply("far is here"); });
  near->on_request([](const Request& request) { request.reply("near is here"); });
  std::map<std::string, std::string> answers;
  for (const auto& [name, peer] : peers_)
    server_->call(peer, {"where"}, [&answers, who = name](const Result<std::string>& answer) {
      answers[who] = answer.value_or("lost");
    });
  EXPECT_TRUE(until([&] { return answers.size() == 2; }));
  EXPECT_EQ(answers["agent 1"], "far is here");
  EXPECT_EQ(answers[""], "near is here");
}

TEST_F(CurveTest, APeerThatGoesIsLost) {
  auto far = client_of(known_as("agent 1"));
  EXPECT_EQ(ask(*far, "a"), "a");
  std::optional<PeerId> lost;
  server_->on_peer_lost([&](PeerId peer) { lost = peer; });
  far.reset();
  EXPECT_TRUE(until([&] { return lost.has_value(); }));
  EXPECT_EQ(*lost, peers_["agent 1"]);
}

TEST_F(CurveTest, WhoHasAKeyThatNobodyKnowsIsNotLetIn) {
  const auto stranger = client_of(*new_key_pair());
  expect_refusal();
  EXPECT_EQ(refused_.front(), "127.0.0.1: nobody is known by its key");
  EXPECT_FALSE(stranger->connected());
}

TEST_F(CurveTest, WhoHasTheKeyOfAnotherServerIsNotLetIn) {
  Options options;
  const KeyPair key = known_as("agent 1");
  options.security = {new_key_pair()->public_key, key.public_key, key.secret_key};
  const auto astray = std::move(*Client::connect(*reactor_, uri_, options));
  expect_refusal();
  EXPECT_FALSE(astray->connected());
}

TEST_F(CurveTest, WhoHasNoKeyAtAllIsNotLetIn) {
  const auto plain = std::move(*Client::connect(*reactor_, uri_));
  expect_refusal();
  // With its address, unless it had gone by the time that was asked for.
  EXPECT_THAT(refused_.front(),
              ::testing::EndsWith(": it does not speak as somebody with a key does"));
  EXPECT_FALSE(plain->connected());
}

TEST_F(CurveTest, WhoOnlyLooksWhetherThePortIsOpenIsNoticed) {
  dial(uri_).reset();
  expect_refusal();
  EXPECT_THAT(refused_.front(), ::testing::HasSubstr("before it had shown a key"));
}

TEST_F(CurveTest, WhatWasHeardOfAConnectionIsOfNoUse) {
  Listener listener(*reactor_, uri_);
  const auto heard = client_of(known_as("agent 1"), listener.uri());
  EXPECT_EQ(ask(*heard, "start 1,000 jobs"), "start 1,000 jobs");
  EXPECT_THAT(listener.heard(), ::testing::Not(::testing::HasSubstr("1,000 jobs")));
  const std::string bytes = listener.heard();
  ASSERT_GT(bytes.size(), 200U);
  const UniqueFd again = dial(uri_);
  ASSERT_EQ(send(again.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  expect_refusal();
}

// ROUTER lets a client choose its identity: the one of another, who is away, gets it nothing.
TEST_F(CurveTest, WhoTakesTheIdentityOfAnotherIsStillHimself) {
  zmq::context_t context;
  const auto say_hello = [&](const KeyPair& key) {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::routing_id, "the one");
    socket.set(zmq::sockopt::curve_serverkey, own_.public_key);
    socket.set(zmq::sockopt::curve_publickey, key.public_key);
    socket.set(zmq::sockopt::curve_secretkey, key.secret_key);
    socket.connect(uri_);
    for (const auto& message : {Envelope{Kind::hello, 1, "", "", encode_greeting({"agent 1"})},
                                Envelope{Kind::request, 2, "x", "", ""}})
      socket.send(zmq::buffer(encode(message)), zmq::send_flags::none);
    const std::size_t before = asked_.size();
    EXPECT_TRUE(until([&] { return asked_.size() > before; }));
  };
  bool is_lost = false;
  server_->on_peer_lost([&](PeerId) { is_lost = true; });
  say_hello(known_as("agent 1"));
  EXPECT_TRUE(until([&] { return is_lost; }));  // ROUTER lets nobody have it before
  say_hello(known_as("agent 2"));
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[1].name, "agent 2");
}

TEST_F(CurveTest, ASocketIsHandedFromOneServerToTheNext) {
  const TcpSocket socket = std::move(*listening_socket("127.0.0.1"));
  const std::string uri = "tcp://127.0.0.1:" + std::to_string(socket.port);
  std::optional<std::string> heard;
  std::string current;
  const auto client = client_of(known_as("agent 1"), uri);
  // Again, if it was said to the server before.
  const std::function<void(std::string)> say = [&](const std::string& word) {
    client->call({"x", word}, [&, word](const Result<std::string>& answer) {
      if (!answer && !heard && word == current) say(word);
    });
  };
  for (const char* word : {"first", "second"}) {
    heard.reset();
    current = word;
    const auto reactor = std::move(*Reactor::create());
    const auto server = std::move(*Server::listen(*reactor, *ipc_uri(dir_, word)));
    server->on_request([&](const Request& request) { heard = request.payload(); });
    EXPECT_EQ(server->also_listen(UniqueFd(dup(socket.fd.get())), admission()), uri);
    say(word);
    for (int turns = 0; !heard && turns < 10'000; ++turns) {
      reactor->turn(5);
      reactor_->turn(5);
    }
    ASSERT_EQ(heard.value_or("nothing"), word);
  }
}

TEST(ListeningSocket, IsAtAnAddressOfThisMachine) {
  EXPECT_GT(listening_socket("127.0.0.1")->port, 0);
  EXPECT_EQ(listening_socket("192.0.2.1").error().code, Errc::invalid_argument);
  EXPECT_EQ(listening_socket("n1").error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace holon::transport
